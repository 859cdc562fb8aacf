"""Dumps of a job that goes on, and what must be told of one that stands in a pipeline."""

from __future__ import annotations

from pathlib import Path

from desyncs import Dumps, common, write
from recorder_dumps import dump, entry

from distkb.evidence.readers.flight_recorder import find_flight_recorder, read_flight_recorder


def said(folder: Path, dumps: Dumps) -> list[tuple[str, str]]:
    """The findings with the ranks that they name."""
    write(folder, dumps)
    found = read_flight_recorder(find_flight_recorder([folder])).observations
    return [(one.id.removeprefix("flight-recorder."), one.values["ranks"]) for one in found]


def test_a_send_that_has_been_received_since(tmp_path: Path) -> None:
    """A rank that waits in a send which the other one has received was dumped earlier: nobody is named."""
    sent = [entry(name, seq=n, record=n - 1, p2p=True) for n, name in ((1, "send 0->1"), (2, "send 0->1"))]
    sent[1]["state"] = "started"
    received = [entry("recv 1<-0", seq=n, record=n - 1, p2p=True) for n in (1, 2, 3)]
    world = {"0": ("default_pg", range(2))}
    assert said(tmp_path, {0: dump(sent, world), 1: dump(received, world)}) == [("dumps-not-at-once", "0")]


def test_a_rank_that_has_called_nothing_where_others_have_completed(tmp_path: Path) -> None:
    """No collective ends without all ranks: an empty dump is from before it."""
    world = {"0": ("default_pg", range(4))}
    dumps = {rank: dump([] if rank == 2 else common(3, last="started"), world) for rank in range(4)}
    assert said(tmp_path, dumps) == [("dumps-not-at-once", "2")]


def test_the_order_that_other_groups_of_the_name_keep(tmp_path: Path) -> None:
    """Of two ranks that wait for each other it is the one whose order the other groups do not have."""
    groups = {"0": ("default_pg", range(6))} | {str(n): ("tp", (2 * n - 2, 2 * n - 1)) for n in (1, 2, 3)}
    dumps = {}
    for rank in range(6):
        tp = entry(seq=1, record=0, group=(str(rank // 2 + 1), "tp"), state="completed" if rank > 1 else "started")
        world = entry("all_reduce_barrier", seq=1, record=1, state="started")
        dumps[rank] = dump([world] if rank == 0 else [tp] if rank == 1 else [tp, world], groups)
    assert said(tmp_path, dumps)[0] == ("cross-group-wait", "0")


def test_a_stage_that_owes_a_receive_and_a_collective_behind_it(tmp_path: Path) -> None:
    """What its neighbour in the pipeline waits for comes before what all wait for at the end of the step."""
    groups = {"1": ("pp", (0, 2)), "2": ("pp", (1, 3)), "3": ("dp", (0, 1)), "4": ("dp", (2, 3))}
    dumps = {}
    for rank in range(4):
        name, dp = ("send 0->1" if rank < 2 else "recv 1<-0"), ("3" if rank < 2 else "4", "dp")
        made = [entry(name, seq=n, record=n - 1, group=(str(rank % 2 + 1), "pp"), p2p=True) for n in (1, 2)]
        if rank == 1:
            made[1]["state"] = "started"
        if rank == 3:
            del made[1]
        if rank in (0, 2):
            made.append(entry(seq=1, record=2, group=dp, state="started"))
        dumps[rank] = dump(made, groups)
    assert said(tmp_path, dumps)[0] == ("p2p-unmatched", "3")
