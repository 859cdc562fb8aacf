"""What the NCCL watchdogs of several ranks say together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import built_in
import pytest
from evidence_samples import FINDINGS

from distkb.catalogue.places import cache_directory
from distkb.evidence.read import read_evidence
from distkb.evidence.run.watchdog import ALIVE, BEHIND, FINDING, UNSURE, different_ops_told
from distkb.evidence.walk import take_stock

if TYPE_CHECKING:
    from pathlib import Path

SIGNATURES = built_in.catalogue().signatures


def _line(rank: int, work: str, group: str = "default_pg") -> str:
    start = f"[rank{rank}]:[E1118 10:00:0{rank}.000000000 ProcessGroupNCCL.cpp:"
    return (
        f"{start}607] [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL({work}, "
        "Timeout(ms)=600000) ran for 600012 milliseconds before timing out.\n"
        f"{start}1664] [PG 0 ({group}) Rank {rank}] Exception (either an error or timeout) detected by watchdog at "
        "work: 7, last enqueued NCCL work: 7, last completed NCCL work: 6.\n"
    )


def _certainty(tmp_path: Path, *lines: str) -> float | None:
    log = tmp_path / "console.log"
    log.write_text("".join(lines))
    found = read_evidence(SIGNATURES, (), FINDINGS, take_stock([log]), cache_dir=cache_directory()).observations
    return next((o.certainty for o in found if o.id == FINDING), None)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SeqNum=7, OpType=ALLREDUCE, NumelIn=8, NumelOut=8", "SeqNum=7, OpType=ALLGATHER, NumelIn=8, NumelOut=16"),
        ("SeqNum=7, OpType=ALLREDUCE, NumelIn=8, NumelOut=8", "SeqNum=7, OpType=ALLREDUCE, NumelIn=9, NumelOut=9"),
    ],
)
def test_other_collective_or_size_at_one_number(tmp_path: Path, one: str, other: str) -> None:
    """Two ranks of one group that waited at one number in different collectives or sizes differ."""
    assert _certainty(tmp_path, _line(0, one), _line(1, one), _line(2, other)) == 1.0


@pytest.mark.parametrize(
    ("other", "group"),
    [
        ("SeqNum=7, OpType=ALLREDUCE, NumelIn=8, NumelOut=8", "default_pg"),
        ("SeqNum=6, OpType=BROADCAST, NumelIn=8, NumelOut=8", "default_pg"),
        ("SeqNum=7, OpType=BROADCAST, NumelIn=8, NumelOut=8", "mesh_tp"),
        ("SeqNum=7, OpType=SEND, NumelIn=8, NumelOut=8", "default_pg"),
    ],
)
def test_what_may_well_differ(tmp_path: Path, other: str, group: str) -> None:
    """Equal collectives, other numbers, other groups and point-to-point calls say nothing."""
    one = "SeqNum=7, OpType=ALLREDUCE, NumelIn=8, NumelOut=8"
    assert _certainty(tmp_path, _line(0, one), _line(1, other, group)) is None


def _behind(tmp_path: Path, called: int, done: int, group: str = "default_pg") -> set[str]:
    one = "SeqNum=7, OpType=ALLREDUCE, NumelIn=8, NumelOut=8"
    dumped = (
        f"[rank2]:[E1118 10:00:02.000000000 ProcessGroupNCCL.cpp:1725] [PG ID 0 PG GUID 0({group}) Rank 2] Received a "
        "dump signal due to a collective timeout from rank 0 and we will try our best to dump the debug info. Last "
        f"enqueued NCCL work: {called}, last completed NCCL work: {done}.This is most likely caused by incorrect\n"
    )
    log = tmp_path / "console.log"
    log.write_text(_line(0, one) + _line(1, one) + dumped)
    found = read_evidence(SIGNATURES, (), FINDINGS, take_stock([log]), cache_dir=cache_directory()).observations
    return {o.id for o in found} & {BEHIND, ALIVE}


def test_a_rank_that_never_called_what_others_wait_in(tmp_path: Path) -> None:
    """Its own watchdog says that it was done with all that it had called, which was less."""
    assert _behind(tmp_path, 6, 6) == {BEHIND, ALIVE}


@pytest.mark.parametrize(("called", "done", "group"), [(7, 6, "default_pg"), (9, 9, "default_pg"), (6, 6, "mesh_tp")])
def test_a_rank_that_came_as_far_is_not_behind(tmp_path: Path, called: int, done: int, group: str) -> None:
    """It waits in the same call, came further, or counts in another group."""
    assert _behind(tmp_path, called, done, group) == set()


def test_a_report_that_quotes_two_ranks() -> None:
    """Lines of two ranks in a report tell the same as their logs; without the group's name it is less sure."""
    one = _line(0, "SeqNum=7, OpType=ALLREDUCE, NumelIn=8, NumelOut=8")
    other = _line(1, "SeqNum=7, OpType=ALLREDUCE, NumelIn=1, NumelOut=1")
    found = different_ops_told((one + other).splitlines(), "report.txt")
    assert found is not None
    assert (found.id, found.source, found.certainty) == (FINDING, "report", UNSURE)
    assert [quote.rank for quote in found.quotes] == [0, 1]


@pytest.mark.parametrize(
    "lines",
    [
        _line(0, "SeqNum=7, OpType=ALLREDUCE, NumelIn=8") + _line(1, "SeqNum=7, OpType=ALLREDUCE, NumelIn=8"),
        _line(0, "SeqNum=7, OpType=ALLREDUCE, NumelIn=8")
        + _line(1, "SeqNum=7, OpType=BROADCAST, NumelIn=8")
        + _line(1, "SeqNum=9, OpType=ALLREDUCE, NumelIn=8"),
        _line(0, "SeqNum=7, OpType=ALLREDUCE, NumelIn=8"),
    ],
)
def test_a_report_that_says_nothing_of_it(lines: str) -> None:
    """Equal collectives, a rank that waited in several groups and a single rank say nothing."""
    assert different_ops_told(lines.splitlines(), None) is None
