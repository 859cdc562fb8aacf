"""Rank, writer and time at the start of a line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distkb.evidence.text.lines import Stamp, find_stamp, head, parts, seconds


@pytest.mark.parametrize(
    ("line", "rank"),
    [
        ("[rank3]: Traceback (most recent call last):", 3),
        ("[rank3]:[E1120 10:03:22.123456789 ProcessGroupNCCL.cpp:616] [Rank 3] Watchdog caught", 3),
        ("[default1]:step 4", 1),
        ("[default1]:[rank9]: ValueError: x", 9),
        ("[trainer2]: hello", 2),
        ("[1,3]<stdout>: hello", 3),
        ("[prterun-node1-44@1,7]<stderr>: hello", 7),
        ("2026-11-21 11:08:43,186 [rank0] INFO step 0", 0),
        ("2026-11-21 11:08:43,186 INFO rank=5 step 0", 5),
        ("2026-11-21 11:08:43,186 - Rank 4: step 0", 4),
        ("rank 2 | loss 0.5", 2),
        ("11:29:50 [node 1 rank 2/4] step 25", 2),
        ("node1: [rank6]: boom", 6),
        ("(RayTrainWorker pid=71, ip=10.0.0.2) [rank1]: boom", 1),
        ("(worker1, rank=1, pid=71, ip=10.0.0.2) [rank9]: boom", 9),
        ("[pod/llm-worker-3/pytorch] [rank4]: boom", 4),
        ("train/1 [default2]:[rank10]: boom", 10),
        ("Timed out waiting for rank 3 to join", None),
        ("  rank      : 0 (local_rank: 0)", None),
        ("E1121 11:08:43.366000 10243 api.py:1002] failed (exitcode: -6) local_rank: 1 (pid: 10251)", None),
        ("loss 0.5", None),
    ],
)
def test_rank(line: str, rank: int | None) -> None:
    """The rank that printed a line is read from the launcher's tags and from logging formats, and from nothing else."""
    assert head(line).rank == rank


@pytest.mark.parametrize(
    ("line", "weak", "source"),
    [
        ("3: step 4", 3, ""),
        ("worker2: step 4", 2, "worker2"),
        ("node1: step 4", None, "node1"),
        ("gpu-07:4433:4490 [2] NCCL INFO Bootstrap", 2, "gpu-07:4433"),
        ("(RayTrainWorker pid=71, ip=10.0.0.2) step 4", None, "RayTrainWorker pid=71, ip=10.0.0.2"),
        ("(head, rank=0, pid=17894) step 4", 0, "head, rank=0, pid=17894"),
        ("(worker1, rank=1, pid=71, ip=10.0.0.2) step 4", 1, "worker1, rank=1, pid=71, ip=10.0.0.2"),
        ("[pod/llm-worker-3/pytorch] step 4", None, "llm-worker-3/pytorch"),
        ("llm-master-0 pytorch step 4", None, "llm-master-0 pytorch"),
        ("llm-workers-0-3-x7k2p trainer step 4", None, "llm-workers-0-3-x7k2p trainer"),
        ("ip-10-0-0-12: step 4", None, "ip-10-0-0-12"),
        ("10.0.0.12: step 4", None, "10.0.0.12"),
        ("train/1 [2]: step 4", None, "train/1"),
        ("resnet-5-final model loaded", None, ""),
        ("step/10 [00:12<00:30] loss 0.5", None, ""),
    ],
)
def test_weak_rank_and_source(line: str, weak: int | None, source: str) -> None:
    """Numbers that are the rank only if the whole file agrees are kept apart, with the writer's label."""
    found = head(line)
    assert (found.rank, found.weak, found.source) == (None, weak, source)


@pytest.mark.parametrize(
    ("line", "clock", "dated"),
    [
        ("2026-11-21 11:08:43,186 INFO x", 40123.186, True),
        ("2026-11-21T11:08:43.5Z x", 40123.5, True),
        ("[2026/11/21 11:08:43] x", 40123.0, True),
        ("[rank1]:[W1121 11:08:43.250 a.cpp:1] x", 40123.25, False),
        ("W1121 11:08:43.331000 10243 torch/x.py:1] x", 40123.331, False),
        ("11/21/2026 11:08:43 - INFO - x", 40123.0, True),
        ("Nov 21 11:08:43 host kernel: x", 40123.0, False),
        ("[INFO|trainer.py:17] 2026-11-21 11:08:43,186 >> x", 40123.186, True),
    ],
)
def test_stamp(line: str, clock: float, dated: bool) -> None:
    """Times of the common formats are read with their date."""
    stamp = head(line).stamp
    assert stamp is not None
    assert stamp.clock == pytest.approx(clock)
    assert stamp.day is not None
    assert stamp.dated is dated


def test_clock_alone_and_no_time() -> None:
    """A time without a date has no day; a progress bar's times and ratios are none."""
    assert find_stamp("[10:23:45.123] x") == Stamp(37425.123)
    assert find_stamp(" 12%|# | 12/100 [00:12<01:23, 3.1it/s]") is None
    assert find_stamp("99:99:99 x") is None
    assert find_stamp("1732183407.25 x") == Stamp(1732183407.25 % 86400, 1732183407 // 86400 + 719163, dated=True)


def test_scales_agree() -> None:
    """A date without a year, put into the year of the others, lies on their scale."""
    full, short = find_stamp("2026-11-21 11:08:43"), find_stamp("W1121 11:08:44.000000 1 a.py:1] x")
    assert full is not None
    assert short is not None
    assert seconds(short, None, 2026) - seconds(full, None, 2026) == pytest.approx(1.0)
    assert seconds(Stamp(10.0), full.day, 2026) == (full.day or 0) * 86400 - 719163 * 86400 + 10


@given(st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    """No line makes the reader fail, and the body starts inside the line."""
    found = head(text)
    assert 0 <= found.body <= len(text)
    assert found.rank is None or 0 <= found.rank < 100_000


@given(st.integers(0, 99_999), st.text("abc :", max_size=20))
def test_tag_of_any_rank(rank: int, rest: str) -> None:
    """The prefix of torch itself gives the rank whatever follows."""
    assert head(f"[rank{rank}]: {rest}").rank == rank


@pytest.mark.parametrize(
    ("line", "rank"),
    [
        ('{"t": 6838.13, "rank": 1, "event": "start"}', 1),
        ('{"event": "step", "loss": 0.5, "message": "' + "x" * 200 + '", "global_rank": 3}', 3),
        ("{'rank': 2, 'loss': 0.5}", 2),
        ('{"local_rank": 2, "loss": 0.5}', None),
    ],
)
def test_a_line_of_json_says_its_rank_in_a_field(line: str, rank: int | None) -> None:
    """Wherever among the fields it stands; the local rank is another number."""
    assert head(line).rank == rank


@pytest.mark.parametrize(
    "found",
    [
        ["12:00:05 [rank1] loss 0.52026-11-29"],
        ["2026-11-29 10:26:05 [rank1] loss 0.5", "2026-11-29 10:26:06 [rank0] loss 0.5"],
        ["[rank0] a", "[rank1] b", "[rank12] c"],
        ["rank 0: step 3", "rank 1: step 3"],
        ["[rank0] sends to [rank1] what [rank2] gave"],
        ["[rank0] groups: [[rank0], [rank1]]"],
        ["[0] w[1] = 2"],
    ],
)
def test_a_line_that_several_ranks_wrote_into_has_a_part_of_each(found: list[str]) -> None:
    """A rank that is named within a sentence begins none."""
    line = "".join(found)
    begins = parts(line)
    assert [line[start:stop] for start, stop in zip(begins, [*begins[1:], None], strict=True)] == found
