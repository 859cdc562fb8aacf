"""What a run said of its own settings, held against what it did."""

from __future__ import annotations

import pytest
from hypothesis import given
from run_samples import TEXTS, lines, observed, scan, signatures

from distkb.evidence.run.derive import Before, derive
from distkb.evidence.run.said import limit_of, resumed_behind
from distkb.evidence.run.timeline import Times

WAIT = (
    '[rank1]: Traceback (most recent call last):\n[rank1]:   File "/home/user/train.py", line 4, in main\n'
    "[rank1]:     dist.barrier()\n"
    '[rank1]:   File "/venv/torch/distributed/distributed_c10d.py", line 4, in barrier\n[rank1]:     work.wait()\n'
    "[rank1]: RuntimeError: [gloo/unbound_buffer.cc:78] Timed out waiting 20000ms for recv operation to complete\n"
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("ddp_timeout=120 min", 7200),
        ("process group up, timeout=600s", 600),
        ("timeout: 0:30:00", 1800),
        ("'timeout': datetime.timedelta(seconds=1800)", 1800),
        ("pg_timeout is 2 hours", 7200),
        ("process group timeout asked for: 2:00:00", 7200),
        ("timeout=20000ms", 20),
        ("nccl timeout 10 minutes", 600),
        ("http timeout=600", None),
        ("DataLoader worker timeout=120", None),
        ("step 12 loss 0.3", None),
    ],
)
def test_a_stated_limit_is_read_in_seconds(text: str, seconds: float | None) -> None:
    """The limit of the communication counts in whatever unit; that of something else does not."""
    assert limit_of(text) == seconds


@given(TEXTS)
def test_any_line_states_a_limit_or_none(text: str) -> None:
    """No line is too odd to be looked at."""
    assert limit_of(text) is None or (limit_of(text) or 0.0) >= 0.0


@pytest.mark.parametrize(("limit", "shown"), [("2 hours", True), ("20 s", False), ("30 s", False)])
def test_a_wait_that_ended_long_before_the_stated_limit(limit: str, shown: bool) -> None:
    """The limit that was printed and the one that fired are told apart, not one that comes near."""
    text = f"[rank0]: up, timeout={limit}\n[rank1]: up, timeout={limit}\n[rank0]: working\n{WAIT}"
    assert ("run.shorter-limit" in observed(scan(text))) is shown


@pytest.mark.parametrize(
    ("said", "behind"),
    [
        (["saved out/checkpoint-90", "saved out/checkpoint-120", "resuming from out/checkpoint-90"], True),
        (["saved out/checkpoint-90", "saved out/checkpoint-120", "resuming from out/checkpoint-120"], False),
        (["resuming from out/checkpoint-90", "saved out/checkpoint-120"], False),
        (["saved step_000100.pt", "restored epoch 3"], False),
        (["step 100 loss 0.1", "resumed at step 90"], False),
    ],
)
def test_a_run_that_goes_on_from_an_older_checkpoint(said: list[str], behind: bool) -> None:
    """Only a checkpoint that was saved before counts, and only one of the same naming."""
    assert (resumed_behind({"rank 0": lines(*said)}, dict, Times()) is not None) is behind


SAVED = "08:00:01 world 2\n08:00:02 step 800 loss 0.4\n08:00:04 saved runs/a/step_1200.pt\n"


@pytest.mark.parametrize(
    ("went_on", "behind"),
    [
        ("08:10:00 resumed from runs/a/step_900.pt\n08:10:01 step 910 loss 0.4\n", True),
        ("08:10:00 resumed from runs/a/step_1200.pt\n08:10:01 step 1210 loss 0.4\n", False),
        ("08:10:00 resumed from runs/b/step_900.pt\n08:10:01 step 910 loss 0.4\n", False),
        ("08:00:03 resumed from runs/a/step_900.pt\n08:00:04 step 910 loss 0.4\n", False),
        ("resumed from runs/a/step_900.pt\nstep 910 loss 0.4\n", False),
    ],
    ids=["older", "newest", "another folder", "before it was saved", "no time"],
)
def test_a_second_run_goes_on_from_an_older_checkpoint_than_the_first_had_saved(went_on: str, behind: bool) -> None:
    """Between files the times decide, and only checkpoints of one folder are compared."""
    seen = observed(scan(SAVED, "train.1.log"), scan(went_on, "train.2.log"))
    assert ("run.resumed-behind" in seen) is behind


def test_what_an_earlier_run_saved_counts_where_only_the_newest_is_diagnosed() -> None:
    """The logs of runs before this one are read for their checkpoints alone."""
    now = scan("08:10:00 resumed from runs/a/step_900.pt\n08:10:01 step 910 loss 0.4\n", "train.2.log")
    found = derive([now], [], signatures(), before=Before(apart=[scan(SAVED, "train.1.log")]))
    assert "run.resumed-behind" in {one.id for one in found.observations}


LEXICON = """12:00:01 rank 0 no lexicon at cache/words.jsonl.gz, counting
12:00:03 rank 1 reading cache/words.jsonl.gz (0 bytes)
12:00:05 rank 0 lexicon of 4206 forms written in 3.4 s
12:00:06 rank 0 reading cache/words.jsonl.gz (388761 bytes)
12:00:06 rank 1 step 1
12:00:06 rank 0 step 1
"""
RELOADED = """12:00:01 rank 0 loading best.pt
12:00:01 rank 1 loading best.pt
12:00:05 rank 0 saved best.pt
12:00:06 rank 1 step 1
12:00:06 rank 0 step 1
"""


@pytest.mark.parametrize(("text", "early"), [(LEXICON, True), (RELOADED, False)], ids=["read early", "saved anew"])
def test_a_file_is_read_too_early_where_its_maker_is_not_done(text: str, early: bool) -> None:
    """What another rank still makes is read too early; a checkpoint that all load and one saves anew is not."""
    found = observed(scan(text)).get("run.read-before-written")
    shown = [quote.line for quote in found.quotes] if found is not None else []
    assert shown == ([2, 3] if early else [])


@pytest.mark.parametrize(
    ("starts", "apart"),
    [
        ({0: (4, 5), 1: (0, 1)}, True),
        ({0: (4, 5), 1: (4, 5)}, False),
        ({0: (0, 0), 1: (4, 4)}, False),
        ({0: (0, 1), 1: (4,)}, False),
    ],
    ids=["resumed and anew", "alike", "no epochs that go on", "seen once"],
)
def test_ranks_that_began_at_different_epochs(starts: dict[int, tuple[int, ...]], apart: bool) -> None:
    """Only a count that goes on on every rank says where each began."""
    texts = {rank: "".join(f"epoch {e} begins\nepoch {e} done\n" for e in said) for rank, said in starts.items()}
    found = observed(*(scan(text, f"rank_{rank}.log", rank) for rank, text in texts.items())).get("run.began-apart")
    assert ([quote.rank for quote in found.quotes] == [1, 0] if found is not None else False) is apart
