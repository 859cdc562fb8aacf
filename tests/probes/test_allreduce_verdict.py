"""From marks to findings: who is named for what, with every value that the finding's sentence needs."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import Any

import built_in
import pytest

from distkb.catalogue.model import Finding
from distkb.locale import fill
from distkb_probes._report import Report, Stopped
from distkb_probes.communication.collectives import BLOCK, Group, Wrong
from distkb_probes.communication.marks import Board, Marks, Who
from distkb_probes.communication.nodes import Nodes
from distkb_probes.communication.plan import Plan, plan
from distkb_probes.communication.verdict import conclude
from distkb_probes.communication.watch import Outcome

STORY = ("launch", "store", "rendezvous", "communicator", "first-collective", "correctness", "bandwidth", "done")


@pytest.fixture(scope="module")
def records() -> dict[str, Finding]:
    """Return the findings of the catalogue by id."""
    return {finding.id: finding for finding in built_in.catalogue().findings}


class Story:
    """Marks of a job, written as its ranks would."""

    def __init__(self, directory: Path, world: int) -> None:
        self.directory = directory
        self.marks = [Marks(directory, Who(rank, rank, world, "node1", 100 + rank)) for rank in range(world)]

    def reach(self, stage: str, *ranks: int) -> Story:
        """Let ranks (all without any named) enter the stages up to this one."""
        for rank in ranks or range(len(self.marks)):
            for name in STORY[: STORY.index(stage) + 1]:
                self.marks[rank].stage(name)
        return self

    def outcome(self, end: str, stage: str, **more: Any) -> Outcome:
        """Return how it ended, as the watch would see it."""
        board = Board(self.directory)
        board.look()
        return Outcome(end, board, stage, 9.0, **more)  # type: ignore[arg-type]


def told(
    outcome: Outcome, records: dict[str, Finding], nodes: Nodes | None = None, **changes: Any
) -> dict[str, dict[str, Any]]:
    """Return the findings by id, after a check that both languages can say each of them."""
    report = Report("allreduce")
    conclude(_plan(**changes), outcome, report, nodes)
    found = {item["id"]: item for item in report.document()["found"]}
    for identity, item in found.items():
        record = records[identity]
        for text in (record.says, record.fix):
            if text is not None:
                assert fill(text.en, item["values"])
                assert fill(text.ko, item["values"])
        for command in record.commands:
            assert fill(command, item["values"])
    return found


def _plan(**changes: Any) -> Plan:
    return dataclasses.replace(plan({"nproc": 2}, {}, 0), **changes)


def test_a_wrong_sum_names_the_contributor() -> None:
    """A block that lacks its owner's number shows whose contribution is missing."""
    import torch

    group = Group(torch, None, torch.device("cpu"), 0, 3, None)
    array = sum(dataclasses.replace(group, rank=rank).blocks(0) for rank in range(3))
    assert group.check(array) == []
    array[BLOCK : 2 * BLOCK] -= 2
    assert group.check(array) == [Wrong(1, 2, 0)]


def test_wrong_results_are_told_once_for_each_contributor(tmp_path: Path, records: dict[str, Finding]) -> None:
    """Two ranks that received the same wrong block are one finding, and nothing is called clear."""
    story = Story(tmp_path, 2).reach("done")
    for rank in (0, 1):
        story.marks[rank].write("wrong", op="all_gather", contributor=1, expected=2, got=7)
    found = told(story.outcome("done", "done"), records)
    assert found["allreduce.wrong-result"]["values"] == {"op": "all_gather", "contributor": "1", "ranks": "0, 1"}


def test_ranks_that_are_all_in_one_call_are_not_blamed(tmp_path: Path, records: dict[str, Finding]) -> None:
    """Where every rank has entered the call, no rank is missing: the transport is at fault."""
    story = Story(tmp_path, 2).reach("first-collective")
    for marks in story.marks:
        marks.call("all_reduce")
    found = told(story.outcome("hang", "first-collective"), records)
    assert list(found) == ["allreduce.stuck-together"]
    assert found["allreduce.stuck-together"]["values"]["at"] == "first-collective: all_reduce"


def test_the_rank_behind_is_missing(tmp_path: Path, records: dict[str, Finding]) -> None:
    """A rank that has not entered the call that its peers are in is the one they wait for."""
    story = Story(tmp_path, 3).reach("first-collective", 0, 2).reach("communicator", 1)
    found = told(story.outcome("hang", "first-collective"), records)
    values = found["allreduce.hang"]["values"]
    assert (values["missing"], values["reached"], values["last"]) == ("1", "0, 2", "communicator")


def test_a_silent_rank_of_another_node_is_missing(tmp_path: Path, records: dict[str, Finding]) -> None:
    """Of two ranks in the same call, the one on the other node that gives no sign of life is named."""
    who = Who(0, 0, 2, "node1", 100)
    marks = Marks(tmp_path, who)
    for name in STORY[:5]:
        marks.stage(name)
    peer = {"stage": "first-collective", "number": 0, "call": "", "host": "node2", "pid": 7, "local_rank": 0}
    marks.write("peers", ranks={"1": {**peer, "world": 2, "beat": 1.0}})
    board = Board(tmp_path)
    board.look()
    board.ranks[1].alive_at = time.monotonic() - 10.0
    found = told(Outcome("hang", board, "first-collective", 9.0), records)
    assert found["allreduce.hang"]["values"]["missing"] == "1"
    assert "allreduce.rank-stopped" not in found


def test_an_echo_gives_way_to_the_error(tmp_path: Path, records: dict[str, Finding]) -> None:
    """A rank's own error is told, not the lost connection that another one saw before the mark was read."""
    story = Story(tmp_path, 2).reach("correctness")
    story.marks[0].write("error", error="RuntimeError: Connection closed by peer", trace=[])
    story.marks[1].write("error", error="ValueError: boom", trace=['File "x.py", line 1, in f'])
    found = told(story.outcome("ended", "correctness"), records)
    assert list(found) == ["allreduce.failed"]
    assert found["allreduce.failed"]["values"]["rank"] == "1"


def test_two_ranks_on_one_gpu_are_known_by_the_message_of_nccl(tmp_path: Path, records: dict[str, Finding]) -> None:
    """NCCL's line on stdout says more than the Python error that follows it."""
    story = Story(tmp_path, 2).reach("communicator")
    story.marks[1].write("error", error="DistBackendError: NCCL error: invalid usage", trace=[])
    line = "node1:101:101 [0] init.cc:1 NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1000"
    found = told(story.outcome("ended", "communicator", output={1: [line]}), records)
    assert list(found) == ["allreduce.duplicate-gpu"]
    assert found["allreduce.duplicate-gpu"]["quotes"][0]["text"] == line


@pytest.mark.parametrize(
    ("code", "identity", "how"),
    [
        (-9, "allreduce.rank-killed", None),
        (-11, "allreduce.rank-died", "SIGSEGV"),
        (3, "allreduce.rank-died", "exit code 3"),
    ],
)
def test_a_rank_that_ended_without_an_error(
    code: int, identity: str, how: str | None, tmp_path: Path, records: dict[str, Finding]
) -> None:
    """SIGKILL comes from outside; another signal or a bare exit code does not."""
    story = Story(tmp_path, 2).reach("communicator")
    found = told(story.outcome("ended", "communicator", exits={1: code}), records)
    assert list(found) == [identity]
    assert found[identity]["values"].get("how") == how


def test_a_launch_without_ranks_tells_why(tmp_path: Path, records: dict[str, Finding]) -> None:
    """An error of the launcher is told; nothing at all is a launch that took too long; missing nodes are counted."""
    story = Story(tmp_path, 0)
    failed = story.outcome("ended", "launch", launcher=["Traceback", "ImportError: libcudart.so.12: no such file"])
    assert told(failed, records)["allreduce.launch-failed"]["values"]["error"].startswith("ImportError: libcudart")
    hang = story.outcome("hang", "launch")
    assert list(told(hang, records)) == ["allreduce.launch-hang"]
    alone = told(hang, records, Nodes(tried=True, hosts=("node1",)), nnodes=3, endpoint="node1:29400")
    assert alone["allreduce.node-missing"]["values"]["came"] == "1"


def test_a_deadline_while_ranks_move_is_no_hang(tmp_path: Path) -> None:
    """A test that was still making progress has no verdict on the ranks: it needs more time."""
    report = Report("allreduce")
    with pytest.raises(Stopped):
        conclude(_plan(), Story(tmp_path, 2).reach("bandwidth").outcome("late", "bandwidth"), report)
    held = report.document()
    assert (held["status"], held["reason"], held["detail"], held["found"]) == ("error", "deadline", "60", [])


def test_speed_is_judged_on_gpus_only(tmp_path: Path, records: dict[str, Finding]) -> None:
    """A bus bandwidth far below any link is a warning between GPUs, and nothing on the CPU."""
    story = Story(tmp_path, 2).reach("done")
    point = {"bytes": 64 << 20, "op": "all_reduce", "time_us": 1e6, "algbw_gbs": 0.06, "busbw_gbs": 0.06}
    story.marks[0].write("said", name="sizes", value=[point])
    assert told(story.outcome("done", "done"), records) == {}
    story.marks[0].write("said", name="nccl_version", value="2.27.3")
    assert list(told(story.outcome("done", "done"), records)) == ["allreduce.slow-link"]
