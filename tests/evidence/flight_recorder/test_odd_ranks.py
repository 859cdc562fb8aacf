"""The rank that left what it always did, or what all others do, where all wait and nothing outvotes anybody."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from desyncs import Dumps, write
from recorder_dumps import dump, entry

from distkb.evidence.readers.flight_recorder import find_flight_recorder, read_flight_recorder

Calls = list[dict[str, Any]]


def first(folder: Path, dumps: Dumps) -> tuple[str, str]:
    """The first finding and the ranks that it names."""
    write(folder, dumps)
    one = read_flight_recorder(find_flight_recorder([folder])).observations[0]
    return one.id.removeprefix("flight-recorder."), one.values["ranks"]


def sends(steps: Sequence[Sequence[tuple[str, str]]]) -> Calls:
    """Sends, receives and collectives of one rank: the name of each, and c for completed or s for scheduled."""
    made: Calls = []
    numbers = {True: 0, False: 0}
    for name, state in (call for step in steps for call in step):
        is_peer = "-" in name
        numbers[is_peer] += 1
        states = {"c": "completed", "s": "scheduled"}
        made.append(entry(name, seq=numbers[is_peer], record=len(made), state=states[state], p2p=is_peer))
    return made


def done(*names: str) -> list[tuple[str, str]]:
    """Calls that completed."""
    return [(name, "c") for name in names]


FORWARD = {
    0: ("send 0->1", "send 0->1", "recv 0<-1", "recv 0<-1", "all_reduce"),
    1: ("recv 1<-0", "send 1->2") * 2 + ("recv 1<-2", "send 1->0") * 2 + ("all_reduce",),
    2: ("recv 2<-1", "recv 2<-1", "send 2->1", "send 2->1", "all_reduce"),
}
"""Two micro-batches in three stages."""


def test_a_stage_that_skipped_a_send_and_went_on(tmp_path: Path) -> None:
    """Stage 1 did not pass on the first micro-batch; it and stage 2 both wait in a receive from the other."""
    steps = {rank: [done(*names), done(*names)] for rank, names in FORWARD.items()}
    steps[0].append([*done("send 0->1", "send 0->1"), ("recv 0<-1", "s")])
    steps[1].append([*done("recv 1<-0", "recv 1<-0", "send 1->2"), ("recv 1<-2", "s")])
    steps[2].append([*done("recv 2<-1"), ("recv 2<-1", "s")])
    dumps = {rank: dump(sends(made), {"0": ("default_pg", range(3))}) for rank, made in steps.items()}
    assert first(tmp_path, dumps) == ("p2p-unmatched", "1")


def test_a_stage_that_sent_once_too_often(tmp_path: Path) -> None:
    """Stage 1 sends a third time where stage 2 receives twice: the sender is named, not the one that lacks a call."""
    steps = {rank: [done(*names), done(*names)] for rank, names in FORWARD.items()}
    steps[0].append([*done("send 0->1", "send 0->1"), ("recv 0<-1", "s")])
    steps[1].append([*done("recv 1<-0", "send 1->2", "recv 1<-0", "send 1->2"), ("send 1->2", "s"), ("recv 1<-2", "s")])
    steps[2].append([*done("recv 2<-1", "recv 2<-1"), ("send 2->1", "s")])
    dumps = {rank: dump(sends(made), {"0": ("default_pg", range(3))}) for rank, made in steps.items()}
    assert first(tmp_path, dumps)[1] == "1"


@pytest.mark.parametrize("stray", [0, 3])
def test_the_wrong_group_in_a_job_with_a_pipeline(stray: int, tmp_path: Path) -> None:
    """One rank reduces in its data parallel group; its partner there waits for the stage that waits for the rank."""
    groups = {"1": ("tp", (stray, 9)), "2": ("dp", (stray, 5)), "3": ("pp", (5, 9))}
    dumps = {}
    for rank, order in {stray: ("1", "1", "2"), 9: ("1", "1", "3"), 5: ("3", "2")}.items():
        made: Calls = []
        seen: dict[str, int] = {}
        for step in range(3):
            for at, usual in enumerate(order):
                name = "2" if rank == stray and step == 2 and at == 1 else usual
                seen[name] = seen.get(name, 0) + 1
                is_open = step == 2 and (at >= 1 or rank == 5)
                made.append(
                    entry(
                        seq=seen[name],
                        record=len(made),
                        state="scheduled" if is_open else "completed",
                        group=(name, groups[name][0]),
                        at=f"/app/train.py:{10 + at}",
                    )
                )
                if step == 2 and is_open and rank == 5:
                    break
        own = {name: group for name, group in groups.items() if rank in group[1]}
        dumps[rank] = dump(made, own)
    assert first(tmp_path, dumps) == ("cross-group-wait", str(stray))


@pytest.mark.parametrize(("rounds", "wrong", "right"), [(3, 2, 3), (4, 1, 4), (4, 0, 4)])
def test_the_root_goes_round(rounds: int, wrong: int, right: int, tmp_path: Path) -> None:
    """Each gather has the next rank as its root: in the last one the rank whose turn it is not is named."""
    dumps = {}
    for rank in range(6):
        made = []
        for number in range(rounds + 1):
            is_root = rank == number or (number == rounds and rank in (wrong, right))
            out = [[4]] * 6 if is_root else [[0]]
            state = "started" if number == rounds else "completed"
            made.append(entry("gather", seq=number + 1, record=number, sizes=[[4]], out=out, state=state))
        dumps[rank] = dump(made, {"0": ("default_pg", range(6))})
    assert first(tmp_path, dumps) == ("roots-differ", str(wrong))


def test_a_stage_that_stopped_is_not_overruled_by_the_first_time_of_another_call(tmp_path: Path) -> None:
    """Rank 1 receives twice in a row, as it never did before; rank 2 waits for nothing, and nobody lacks a call."""
    steady = [("send 1->2", "c"), ("recv 1<-2", "c")]
    steps = {1: [steady * 3, [("recv 1<-2", "s")]], 0: [[("recv 0<-1", "s")]]}
    steps[2] = [[("recv 2<-1", "c"), ("send 2->1", "c")] * 3]
    dumps = {rank: dump(sends(made), {"0": ("default_pg", range(3))}) for rank, made in steps.items()}
    assert first(tmp_path, dumps) == ("p2p-unmatched", "2")


def test_two_roots_of_two(tmp_path: Path) -> None:
    """Both of two ranks collect: the one that never did before is named."""
    dumps = {}
    for rank in (0, 1):
        made = []
        for number in (1, 2, 3):
            out = [[4]] * 2 if rank == 0 or number == 3 else [[0]]
            state = "started" if number == 3 else "completed"
            made.append(entry("gather", seq=number, record=number - 1, sizes=[[4]], out=out, state=state))
        dumps[rank] = dump(made, {"0": ("default_pg", range(2))})
    assert first(tmp_path, dumps) == ("roots-differ", "1")


def test_the_end_of_a_batch_is_no_call_of_the_order(tmp_path: Path) -> None:
    """Batches of one call end each in an entry of their own: between them nobody left its usual order."""
    dumps = {}
    for rank, names in {0: ("send 0->1",), 1: ("recv 1<-0", "send 1->2"), 2: ("recv 2<-1",)}.items():
        made: Calls = [entry(seq=1, record=0)]
        for name in names * 3:
            seq = (len(made) + 1) // 2
            is_open = seq > 2 * len(names)
            made.append(entry(name, seq=seq, record=len(made), state="scheduled", p2p=True))
            state = "started" if is_open else "completed"
            made.append(entry("coalesced", seq=seq, record=len(made), sizes=[], state=state, p2p=True))
        dumps[rank] = dump(made, {"0": ("default_pg", range(3))})
    assert first(tmp_path, dumps) == ("p2p-not-finished", "0, 1")


@pytest.mark.parametrize("op", ["_broadcast_oop", "_reduce_oop"])
@pytest.mark.parametrize("part", [0, 1, 2])
def test_one_part_of_a_coalesced_group_has_another_shape(op: str, part: int, tmp_path: Path) -> None:
    """Rank 2 alone is named, also where another rank has a history of its own (the root of an earlier gather)."""
    dumps = {}
    for rank in range(4):
        made = [entry("gather", seq=1, record=0, sizes=[[4]], out=[[4]] * 4 if rank == 0 else [[0]])]
        for at, rows in enumerate((3, 5, 7)):
            sizes = [[rows - (rank == 2 and at == part)]]
            made.append(entry(op, seq=2, record=at + 1, sizes=sizes, state="scheduled"))
        made.append(entry("ALLGATHER_coalesced", seq=2, record=4, sizes=[], state="started"))
        dumps[rank] = dump(made, {"0": ("default_pg", range(4))})
    assert first(tmp_path, dumps) == ("shape-mismatch", "2")


def exchange(sizes: Sequence[tuple[int, int]], before: int) -> Dumps:
    """Ranks that exchanged eight rows each a few times, and now what is given: rows in and rows out of each."""
    dumps = {}
    for rank, (rows, out) in enumerate(sizes):
        made = [entry("all_to_all", seq=at + 1, record=at, sizes=[[8, 2]]) for at in range(before)]
        made.append(
            entry("all_to_all", seq=before + 1, record=before, sizes=[[rows, 2]], out=[[out, 2]], state="started")
        )
        dumps[rank] = dump(made, {"0": ("default_pg", range(len(sizes)))})
    return dumps


@pytest.mark.parametrize("before", [0, 2])
def test_one_rank_sends_fewer_rows_than_all_others_and_the_sums_differ(before: int, tmp_path: Path) -> None:
    """What is received varies, as with experts; what is sent is the same on all but rank 1, by what is lacking."""
    dumps = exchange([(8, 6), (5, 10), (8, 9), (8, 7)], before)
    assert first(tmp_path, dumps) == ("shape-mismatch", "1")


def test_one_rank_exchanges_half_as_much_as_ever(tmp_path: Path) -> None:
    """The sums agree and all wait: rank 3 alone has another size than every call before."""
    assert first(tmp_path, exchange([(8, 8), (8, 8), (8, 8), (4, 4)], 2)) == ("shape-mismatch", "3")


def test_nobody_is_named_where_sizes_always_varied(tmp_path: Path) -> None:
    """Without earlier calls of one size, a rank that exchanges less is not at fault."""
    assert first(tmp_path, exchange([(8, 8), (8, 8), (8, 8), (4, 4)], 0))[0] == "still-running-on-device"


def test_the_pair_whose_lists_do_not_agree(tmp_path: Path) -> None:
    """Rank 2 expects three rows of rank 0, which sends it two."""
    dumps = {}
    for rank in range(4):
        out = [[3 if (rank, other) == (2, 0) else 2, 4] for other in range(4)]
        made = [entry("all_to_all", seq=1, record=0, sizes=[[2, 4]] * 4, out=out, state="started")]
        dumps[rank] = dump(made, {"0": ("default_pg", range(4))})
    assert first(tmp_path, dumps) == ("shape-mismatch", "0, 2")


def test_a_batch_that_lacks_its_receive(tmp_path: Path) -> None:
    """In a ring all wait for each other in one hop; rank 1 posted a send only, and would receive in the next hop."""
    dumps = {}
    for rank in range(4):
        made: Calls = []
        for hop in range(4):
            is_open = hop >= 2
            ends = [f"send {rank}->{(rank + 1) % 4}", f"recv {rank}<-{(rank - 1) % 4}"]
            for name in ends[:1] if rank == 1 and hop == 2 else ends:
                made.append(entry(name, seq=hop + 1, record=len(made), state="scheduled", p2p=True))
            state = ("started" if hop == 2 else "scheduled") if is_open else "completed"
            made.append(entry("coalesced", seq=hop + 1, record=len(made), sizes=[], state=state, p2p=True))
        dumps[rank] = dump(made, {"0": ("default_pg", range(4))})
    assert first(tmp_path, dumps)[1] == "1"


def moves(calls: Sequence[tuple[str, tuple[int, ...]]], opened: int, behind: str = "") -> Calls:
    """Sends and receives with their sizes; those from a place on are open, and so is a collective behind them."""
    made = []
    for number, (name, size) in enumerate(calls):
        state = "completed" if number < opened else "scheduled"
        made.append(entry(name, seq=number + 1, record=number, state=state, sizes=[size], p2p=True))
    return [*made, entry(behind, seq=1, record=len(made), state="scheduled")] if behind else made


def test_a_receive_from_the_wrong_rank_among_calls_that_did_not_wait(tmp_path: Path) -> None:
    """Rank 3 receives from rank 1 once, and once too little from rank 2; all have gone on to an all_reduce."""
    size = (8,)
    calls = {
        1: [(f"send 1->{to}", size) for to in (2, 2, 2)],
        2: [(f"{op} 2{way}", size) for _ in range(3) for op, way in (("recv", "<-1"), ("send", "->3"))],
        3: [(f"recv 3<-{source}", size) for source in (2, 1, 2)],
    }
    opened = {1: 3, 2: 3, 3: 1}
    groups = {"0": ("default_pg", range(4))}
    dumps = {rank: dump(moves(made, opened[rank], "all_reduce"), groups) for rank, made in calls.items()}
    dumps[0] = dump([entry("all_reduce", seq=1, state="scheduled")], groups)
    assert first(tmp_path, dumps) == ("p2p-other-rank", "3")


def test_a_receive_that_was_called_twice_in_place_of_the_next(tmp_path: Path) -> None:
    """Rank 0 takes from each in turn, in the third round twice from rank 1: rank 2 waits with its send."""
    everyone: dict[int, tuple[str, ...]] = {0: ("recv 0<-1", "recv 0<-2", "send 0->1", "send 0->2")}
    everyone |= {rank: (f"send {rank}->0", f"recv {rank}<-0") for rank in (1, 2)}
    steps = {rank: [done(*names), done(*names)] for rank, names in everyone.items()}
    steps[0].append([*done("recv 0<-1"), ("recv 0<-1", "s")])
    steps[1].append([*done("send 1->0"), ("recv 1<-0", "s")])
    steps[2].append([("send 2->0", "s")])
    dumps = {rank: dump(sends(made), {"0": ("default_pg", range(3))}) for rank, made in steps.items()}
    assert first(tmp_path, dumps) == ("p2p-other-rank", "0")


def test_a_send_that_was_called_twice_in_place_of_the_next(tmp_path: Path) -> None:
    """Rank 0 answers rank 1 twice and rank 2 never; rank 1 has made all that rank 2 makes, and has stopped."""
    steps = {
        0: [[*done("recv 0<-1", "recv 0<-2", "send 0->1"), ("send 0->1", "s")]],
        1: [done("send 1->0", "recv 1<-0")],
        2: [[*done("send 2->0"), ("recv 2<-0", "s")]],
    }
    dumps = {rank: dump(sends(made), {"0": ("default_pg", range(3))}) for rank, made in steps.items()}
    assert first(tmp_path, dumps) == ("p2p-other-rank", "0")


@pytest.mark.parametrize("rounds", [1, 2])
def test_one_rank_with_another_size_than_both_its_neighbours(rounds: int, tmp_path: Path) -> None:
    """Rank 2 of a ring sends and receives another size: it is named alone, with a round before this one or without."""
    dumps = {}
    for rank in range(4):
        last = (2, 9) if rank == 2 else (2, 8)
        ring = (f"send {rank}->{(rank + 1) % 4}", f"recv {rank}<-{(rank - 1) % 4}")
        calls = [(name, (2, 8)) for name in ring * (rounds - 1)] + [(name, last) for name in ring]
        dumps[rank] = dump(moves(calls, 2 * (rounds - 1)), {"0": ("default_pg", range(4))})
    assert first(tmp_path, dumps) == ("p2p-sizes-differ", "2")


def test_the_end_of_a_loop_in_a_window_without_its_beginning_is_no_departure(tmp_path: Path) -> None:
    """Of ranks that wait for each other in batches, the one that ends its first loop in the window is not blamed."""
    loop = ("recv 0<-1", "send 0->2") * 3 + ("recv 0<-2", "send 0->1") * 2
    window = [*done(*loop[-3:], *loop[:6]), ("recv 0<-2", "s")]
    calls = sends([window])
    for number, one in enumerate(calls):
        one["record_id"] = 100 + number
    others = {1: sends([[("recv 1<-2", "s")]]), 2: sends([[("recv 2<-0", "s")]])}
    dumps = {rank: dump(made, {"0": ("default_pg", range(3))}) for rank, made in {0: calls, **others}.items()}
    assert first(tmp_path, dumps)[0] != "unusual-call"
