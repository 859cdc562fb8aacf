"""What happened first, told in one sentence from what the readers found."""

from __future__ import annotations

import functools

import built_in
import pytest

from distkb.evidence.observation import Evidence, Observation, Quote
from distkb.locale import Language, Say
from distkb.report.meaning import Meanings
from distkb.report.story import clock, tell

LOG = "/runs/7/ranks/{rank}/stderr.log"
BARRIER = 'File "/home/user/train.py", line 53, in train  dist.barrier()  # only rank 0'
BACKWARD = 'File "/home/user/train.py", line 45, in train  loss.backward()'
CLOSED = (
    "[rank0]: RuntimeError: [/__w/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:27793."
)
PRIMARY = "accelerate.config-unusable"
"""A signature that is the failure itself."""
T = 1_795_262_051.254
"""11:54:11.254 of some day, as the readers put a printed time on a scale."""


def quote(text: str, rank: int | None, time: float | None = None) -> Quote:
    """Return a quote of a rank's own file."""
    return Quote(text=text, path=LOG.format(rank=rank), line=20, rank=rank, time=time)


def told(lang: Language, *findings: tuple[str, tuple[Quote, ...]], notes: tuple[Quote, ...] = ()) -> str:
    """Return the sentence for an evidence that holds these findings."""
    observations = tuple(Observation(id=name, source="log", quotes=quotes) for name, quotes in findings)
    evidence = Evidence(observations=observations, notes=notes, bytes_read=1)
    return tell(evidence, meanings(), Say(lang))


@functools.cache
def meanings() -> Meanings:
    """Those of the catalogue."""
    return Meanings(built_in.catalogue())


FAILED = (quote("[rank1]: ValueError: bad record", 1, T), quote(CLOSED, 0))
KILLED = (quote("exitcode  : -9 (pid: 32508)  (SIGKILL)", 1, T), quote("RuntimeError: Timed out waiting 5000ms", 0))
CALLS = (quote(BACKWARD, 1), quote(BARRIER, 0))
WORKING = (
    quote("2026-11-21 11:54:11,254 [rank0] INFO shard 11/14", 0, T),
    quote("2026-11-21 11:54:05,617 [rank1] INFO waiting", 1, T - 5.637),
)


@pytest.mark.parametrize(
    ("findings", "english", "korean"),
    [
        (
            (("logs.one-rank-failed-first", FAILED),),
            (
                "Rank 1 failed first around 11:54:11.2: ValueError: bad record. "
                "The other ranks only saw its connection close."
            ),
            (
                "랭크 1이 11:54:11.2쯤 먼저 실패했습니다: ValueError: bad record. "
                "다른 랭크에는 그 랭크와 연결이 끊겼다는 오류만 남았습니다."
            ),
        ),
        (
            (("logs.one-rank-failed-first", KILLED),),
            (
                "Rank 1 was killed by SIGKILL around 11:54:11.2, before anything else failed. "
                "The other ranks only waited for it in vain."
            ),
            "랭크 1이 11:54:11.2쯤 가장 먼저 SIGKILL 시그널로 죽었습니다. 다른 랭크는 그 랭크를 기다리기만 했습니다.",
        ),
        (
            (("logs.only-echoes", FAILED[1:]), ("logs.ranks-in-different-calls", CALLS)),
            "Rank 0 waited in `dist.barrier()` (train.py:53), rank 1 in `loss.backward()` (train.py:45).",
            "랭크 0은 `dist.barrier()`(train.py:53)에서, 랭크 1은 `loss.backward()`(train.py:45)에서 기다렸습니다.",
        ),
        (
            (("logs.ranks-in-different-calls", CALLS),),
            "Rank 0 was in `dist.barrier()` (train.py:53), rank 1 in `loss.backward()` (train.py:45).",
            "랭크 0은 `dist.barrier()`(train.py:53)에, 랭크 1은 `loss.backward()`(train.py:45)에 있었습니다.",
        ),
        (
            (("logs.rank-still-working", WORKING), ("frame.x", (quote(BARRIER, 1),))),
            (
                "Rank 0 was still working at 11:54:11.2 (shard 11/14); rank 1 was waiting for it in "
                "`dist.barrier()` (train.py:53)."
            ),
            (
                "랭크 0은 11:54:11.2에 아직 작업 중이었고(shard 11/14), 랭크 1은 "
                "`dist.barrier()`(train.py:53)에서 기다리고 있었습니다."
            ),
        ),
        (
            (("logs.rank-still-working", WORKING),),
            "Rank 0 was still working at 11:54:11.2 (shard 11/14); the last line of rank 1 came at 11:54:05.6.",
            (
                "랭크 0은 11:54:11.2에 아직 작업 중이었고(shard 11/14), "
                "랭크 1은 11:54:05.6에 마지막 줄을 출력한 뒤 조용했습니다."
            ),
        ),
        (
            (("logs.same-error-on-every-rank", (FAILED[0], quote("[rank0]: ValueError: bad record", 0))),),
            "Ranks 0 and 1 stopped with the same error around 11:54:11.2: ValueError: bad record.",
            "랭크 0, 1이 11:54:11.2쯤 같은 오류로 종료되었습니다: ValueError: bad record.",
        ),
        (
            (("logs.exception-in-user-code", (quote("ValueError: bad record", 1),)),),
            "Rank 1 failed: ValueError: bad record.",
            "랭크 1에서 오류가 났습니다: ValueError: bad record.",
        ),
        (
            (("logs.rank-finished-early", (quote("done", 0), FAILED[1])),),
            "Rank 0 ended without an error (last line: done); rank 0 was still waiting for it.",
            "랭크 0은 오류 없이 끝났고(마지막 줄: done), 랭크 0은 그때도 기다리고 있었습니다.",
        ),
        (
            (("logs.ranks-in-same-call", (quote(BARRIER, 0), quote(BARRIER, 1))),),
            "Every rank waited in `dist.barrier()` (train.py:53).",
            "모든 랭크가 `dist.barrier()`(train.py:53)에서 기다렸습니다.",
        ),
        (
            (("logs.last-step-differs", (quote("step 5", 0), quote("step 6", 1))),),
            "The last step that rank 0 printed is “step 5”; the last one of rank 1 is “step 6”.",
            "랭크 0이 마지막으로 출력한 스텝은 “step 5”, 랭크 1의 마지막 스텝은 “step 6”입니다.",
        ),
        (
            (("logs.frozen-without-error", (quote("step 5", None),)),),
            "The output ends with the line “step 5” of a rank; no error follows.",
            "출력은 한 랭크의 “step 5” 줄에서 끝났고, 오류는 없습니다.",
        ),
        (
            ((PRIMARY, (quote("raise Late", None), quote("torch.x.LateError: too late.", None))),),
            "First error in the logs: torch.x.LateError: too late.",
            "로그에서 처음 나온 오류: torch.x.LateError: too late.",
        ),
        (
            ((PRIMARY, (quote("torch.x.SignalException: Process 4012 got signal: 15", None),)),),
            "The launcher was ended from outside, by signal 15.",
            "런처가 외부에서 온 시그널 15로 종료되었습니다.",
        ),
        ((("frame.x", CALLS),), "", ""),
    ],
)
def test_each_finding_has_its_sentence(
    findings: tuple[tuple[str, tuple[Quote, ...]], ...], english: str, korean: str
) -> None:
    """The most telling finding says what happened first, with rank, time and place as far as they are known."""
    assert told("en", *findings) == english
    assert told("ko", *findings) == korean


def test_a_line_that_is_no_error_is_not_called_one() -> None:
    """Where only the last lines of silent ranks are known, nothing is claimed."""
    assert told("en", notes=(quote("step 40 done", 0, T), quote("Timed out waiting", 1))) == ""


def test_long_errors_end_with_their_first_sentence() -> None:
    """A message of several sentences, or of no end, does not fill the screen."""
    two = quote("RuntimeError: Expected to have finished reduction before. This error indicates more.", 1)
    assert told("en", ("logs.exception-in-user-code", (two,))).endswith("finished reduction before.")
    endless = told("en", ("logs.exception-in-user-code", (quote("ValueError: " + "word " * 100, 1),)))
    assert len(endless) < 220
    assert endless.endswith("…")


def test_the_clock_is_that_of_the_log() -> None:
    """Times are cut to tenths, never rounded into a minute that was not printed; days are left out."""
    assert clock(59.96) == "00:00:59.9"
    assert clock(20.5) == "00:00:20.5"
    assert clock(T) == "11:54:11.2"
    assert clock(86_399.99) == "23:59:59.9"


def test_what_a_reader_concluded_follows_what_happened() -> None:
    """The condition in the code stands in the same paragraph, with its values, in both languages."""
    values = {"function": "train", "line": "31", "test": "rank == 0", "on": "rank"}
    found = Observation(id="code.parted-by-rank", source="probe", quotes=(quote("if rank == 0:", None),), values=values)
    evidence = Evidence(observations=(found,), bytes_read=1)
    assert tell(evidence, meanings(), Say("en")).startswith("`train` line 31: `rank == 0` lets only some ranks through")
    assert tell(evidence, meanings(), Say("ko")).startswith("`train` 31행: `rank == 0` 조건은 일부 랭크만 통과시키고")


def test_what_is_said_more_exactly_elsewhere_is_not_concluded() -> None:
    """A loop over a set of names is in an order of each process's own: that it is the batch's is not said beside it."""
    at = (quote("for task in set(tasks):", None),)
    values = {"function": "forward", "line": "44", "test": "set(tasks)", "on": "tasks"}
    batch = Observation(id="code.batch-skips-module", source="probe", quotes=at, values=values)
    order = Observation(id="script.parts-over-set", source="probe", quotes=at)
    assert "depends on the batch" in tell(Evidence(observations=(batch,), bytes_read=1), meanings(), Say("en"))
    assert not tell(Evidence(observations=(batch, order), bytes_read=1), meanings(), Say("en"))
