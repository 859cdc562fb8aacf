"""Many jobs, right and wrong, drawn by number: the first finding names what was made wrong."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from desyncs import Dumps, write
from recorder_dumps import dump, entry

from distkb.evidence.readers.flight_recorder import find_flight_recorder, read_flight_recorder

DESCS = ("default_pg", "tp", "dp", "EXPERT_MODEL_PARALLEL_GROUP")
Calls = list[dict[str, Any]]


def history(rng: random.Random, ranks: int, length: int) -> list[dict[str, Any]]:
    """What every rank calls alike: operations, sizes and dtypes."""
    found = []
    for _ in range(length):
        op = rng.choice(["all_reduce", "_all_gather_base", "_reduce_scatter_base", "broadcast", "barrier", "gather"])
        width = rng.choice([4, 64, 4096])
        sizes, out = [[width]], [[width]]
        if op == "_all_gather_base":
            out = [[width * ranks]]
        if op == "_reduce_scatter_base":
            sizes = [[width * ranks]]
        found.append({"op": op, "sizes": sizes, "out": out, "dtypes": [rng.choice(["Float", "BFloat16"])]})
    return found


def calls(rank: int, past: list[dict[str, Any]], ranks: int, group: tuple[str, str], last: str) -> Calls:
    """The entries of one rank; only the root of a gather has an output."""
    made = []
    for number, call in enumerate(past):
        own = dict(call)
        if own["op"] == "gather":
            own |= {
                "out": own["sizes"] * ranks if rank == 0 else [[]],
                "out_dtypes": own["dtypes"] if rank == 0 else [],
            }
        state = last if number == len(past) - 1 else "completed"
        made.append(entry(own.pop("op"), seq=number + 1, record=number, state=state, group=group, **own))
    return made


def job(seed: int, kind: str) -> tuple[Dumps, str, str]:
    """The dumps, and the finding and the ranks that must come first."""
    rng = random.Random(f"{kind}{seed}")
    ranks, length = rng.choice([2, 4, 8, 16]), rng.randint(2, 12)
    group = ("0", "default_pg")
    past = history(rng, ranks, length)
    odd = rng.randrange(1, ranks)
    groups = {"0": ("default_pg", range(ranks))}
    made = {r: calls(r, past, ranks, group, "completed" if kind == "right" else "started") for r in range(ranks)}
    finding, culprits = "all-complete", ""
    end = entry("all_reduce", seq=length, record=length - 1, state="started", group=group)
    if kind != "right":
        for own in made.values():
            own[-1] = dict(end)
    if kind == "behind":
        made[odd].pop()
        finding, culprits = "rank-behind", str(odd)
    if kind == "op":
        made[odd][-1] = entry("all_to_all", seq=length, record=length - 1, state="started", group=group)
        finding, culprits = "ranks-called-different-ops", str(odd if ranks > 2 else 1)
    if kind == "shape":
        made[odd][-1] = entry(seq=length, record=length - 1, state="started", group=group, sizes=[[7]])
        finding, culprits = "shape-mismatch", str(odd if ranks > 2 else 1)
    if kind == "dtype":
        made[odd][-1] = entry(seq=length, record=length - 1, state="started", group=group, dtypes=["Half"])
        finding, culprits = "dtype-mismatch", str(odd if ranks > 2 else 1)
    if kind == "missing":
        del made[odd]
        finding, culprits = "rank-missing", str(odd)
    dumps = {rank: dump(own, groups) for rank, own in made.items()}
    if kind in {"active", "active-pg"}:
        # Only what is open was dumped: the status tells how far the odd rank came.
        for rank, document in dumps.items():
            number = length - (rank == odd)
            document["entries"] = [] if rank == odd else [dict(end, pg_id=5)]
            document["pg_status"] = {"5": {"last_enqueued_collective": number, "last_completed_collective": length - 1}}
        finding, culprits = "rank-behind", str(odd)
    return dumps, finding, culprits


KINDS = ("right", "behind", "op", "shape", "dtype", "missing", "active")


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_made_wrong_comes_first(kind: str, tmp_path: Path) -> None:
    """Of eighteen jobs of each kind, all with other sizes, ranks and calls, it is the first finding."""
    for seed in range(18):
        dumps, finding, culprits = job(seed, kind)
        write(tmp_path / str(seed), dumps)
        reading = read_flight_recorder(find_flight_recorder([tmp_path / str(seed)]))
        first = reading.observations[0]
        assert first.id == f"flight-recorder.{finding}", (kind, seed)
        assert not culprits or first.values["ranks"] == culprits, (kind, seed)


def first(folder: Path, dumps: Dumps) -> tuple[str, str]:
    """The first finding and its ranks."""
    write(folder, dumps)
    one = read_flight_recorder(find_flight_recorder([folder])).observations[0]
    return one.id.removeprefix("flight-recorder."), one.values["ranks"]


def test_a_rank_further_on_is_no_partner_of_a_deadlock(tmp_path: Path) -> None:
    """Rank 1 has completed the call in which rank 0 stands, and waits elsewhere: rank 0 is behind, not crossed."""
    tp, ep = ("1", "tp"), ("2", "ep")
    groups = {"1": ("tp", range(2)), "2": ("ep", range(2))}
    dumps = {
        0: dump([entry(seq=7, record=20, state="scheduled", group=tp)], groups),
        1: dump(
            [
                entry(seq=3, record=30, state="scheduled", group=ep),
                entry(seq=9, record=31, state="scheduled", group=tp),
            ],
            groups,
        ),
    }
    for rank, (own_tp, own_ep) in {0: (7, 2), 1: (9, 3)}.items():
        dumps[rank]["pg_status"] = {
            "1": {"last_enqueued_collective": own_tp},
            "2": {"last_enqueued_collective": own_ep},
        }
        for one in dumps[rank]["entries"]:
            one["pg_id"] = int(one["process_group"][0])
    write(tmp_path, dumps)
    found = read_flight_recorder(find_flight_recorder([tmp_path])).observations
    assert "flight-recorder.cross-group-wait" not in {o.id for o in found}
    assert found[0].values["ranks"] == "0", [(o.id, o.values["ranks"]) for o in found]


def test_sends_behind_a_collective_that_was_never_made_come_later(tmp_path: Path) -> None:
    """Rank 2 waits for a receive of rank 1, which waits in a collective that rank 0 never made: rank 0 comes first."""
    dp, pp = ("1", "dp"), ("2", "pp")
    groups = {"1": ("dp", [0, 1]), "2": ("pp", [1, 2])}
    dumps = {
        0: dump([entry(seq=1, record=0, group=dp)], {"1": ("dp", [0, 1])}),
        1: dump([entry(seq=1, record=0, group=dp), entry(seq=2, record=1, state="started", group=dp)], groups),
        2: dump([entry("send 1->0", seq=1, record=0, state="started", group=pp, p2p=True)], {"2": ("pp", [1, 2])}),
    }
    assert first(tmp_path, dumps) == ("rank-behind", "0")


def test_a_receive_from_anybody_takes_a_send(tmp_path: Path) -> None:
    """A receive from whichever rank sends first is the partner of a send."""
    dumps = {
        0: dump(
            [entry("recvAnySource", seq=1, record=0, p2p=True, backend="gloo", retired=True)],
            {"0": ("default_pg", range(2))},
        ),
        1: dump([entry("send 1->0", seq=1, record=0, state="started", p2p=True)], {"0": ("default_pg", range(2))}),
    }
    write(tmp_path, dumps)
    found = read_flight_recorder(find_flight_recorder([tmp_path])).observations
    assert "flight-recorder.p2p-unmatched" not in {o.id for o in found}


def test_the_end_of_a_batch_of_sends_is_no_collective(tmp_path: Path) -> None:
    """`coalesced` right after sends and receives belongs to them: ranks outside the batch do not lack it."""
    world = {"0": ("default_pg", range(3))}

    def batch(op: str) -> Calls:
        return [
            entry(seq=1, record=0),
            entry(op, seq=1, record=1, state="scheduled", p2p=True),
            entry("coalesced", seq=1, record=2),
            entry(seq=2, record=3),
        ]

    dumps = {0: dump(batch("send 0->1"), world), 1: dump(batch("recv 1<-0"), world)}
    dumps[2] = dump([entry(seq=1, record=0), entry(seq=2, record=1)], world)
    assert first(tmp_path, dumps)[0] == "all-complete"


def test_dtypes_may_be_written_as_one_text(tmp_path: Path) -> None:
    """A dtype that is no list is a dtype too."""
    world = {"0": ("default_pg", range(3))}
    made = {rank: entry(seq=1, record=0, state="started") for rank in range(3)}
    for rank, one in made.items():
        one["input_dtypes"] = one["output_dtypes"] = "float16" if rank == 2 else "float32"
    assert first(tmp_path, {rank: dump([one], world) for rank, one in made.items()}) == ("dtype-mismatch", "2")


@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_sends_that_go_round_are_one_circle(tmp_path: Path, ranks: int) -> None:
    """Everybody sends to the next one and nobody receives: all of them are named, and the single waits follow."""
    world = {"0": ("default_pg", range(ranks + 1))}
    dumps = {
        rank: dump([entry(f"send {rank}->{(rank + 1) % ranks}", seq=1, record=0, state="started", p2p=True)], world)
        for rank in range(ranks)
    }
    dumps[ranks] = dump([entry(seq=1, record=0, state="started")], world)
    assert first(tmp_path, dumps) == ("p2p-circle", f"0-{ranks - 1}" if ranks > 2 else "0, 1")


@pytest.mark.parametrize(("op", "usual", "odd"), [("gather", 0, 2), ("scatter", 1, 3)])
def test_two_roots_of_one_call(tmp_path: Path, op: str, usual: int, odd: int) -> None:
    """The rank that holds the root's list beside the root of all calls before is named."""

    def call(rank: int, number: int, roots: tuple[int, ...]) -> dict[str, Any]:
        lists = [[8]] * 4 if rank in roots else [[0]]
        sizes, out = ([[8]], lists) if op == "gather" else (lists, [[8]])
        state = "started" if number == 3 else "completed"
        return entry(op, seq=number, record=number, state=state, sizes=sizes, out=out)

    made = {r: [call(r, n, (usual,)) for n in (1, 2)] + [call(r, 3, (usual, odd))] for r in range(4)}
    dumps = {rank: dump(calls, {"0": ("default_pg", range(4))}) for rank, calls in made.items()}
    assert first(tmp_path, dumps) == ("roots-differ", str(odd))


def test_a_gather_without_a_root(tmp_path: Path) -> None:
    """Where no rank holds the list of the root, the one that held it before is named, and no link is suspected."""

    def call(rank: int, number: int) -> dict[str, Any]:
        is_root = rank == 1 and number < 3
        state = "completed" if number < 3 else "started"
        return entry("gather", seq=number, record=number, state=state, sizes=[[8]], out=[[8]] * 4 if is_root else [[0]])

    dumps = {r: dump([call(r, n) for n in (1, 2, 3)], {"0": ("default_pg", range(4))}) for r in range(4)}
    assert first(tmp_path, dumps) == ("no-root", "1")


def between(calls: Sequence[tuple[str, str]], peers: int) -> dict[str, Any]:
    """Return the dump of a rank that makes sends and receives one after another, with the state of each."""
    made = [
        entry(name, seq=at + 1, record=at, state=state, p2p=True, at="/app/pipe.py:30")
        for at, (name, state) in enumerate(calls)
    ]
    return dump(made, {"0": ("default_pg", range(peers))})


def test_a_transfer_that_both_sides_began_is_no_missing_call(tmp_path: Path) -> None:
    """Both ends called and nothing moves: the two are named; who waits behind them is no finding of its own."""
    steps = {
        0: [("send 0->1", "completed"), ("send 0->1", "started")],
        1: [("recv 1<-0", "completed"), ("recv 1<-0", "started")],
        2: [("recv 2<-1", "started")],
    }
    write(tmp_path, {rank: between(calls, 3) for rank, calls in steps.items()})
    (one,) = read_flight_recorder(find_flight_recorder([tmp_path])).observations
    assert (one.id, one.values["ranks"]) == ("flight-recorder.p2p-not-finished", "0, 1")


def test_a_send_to_a_rank_that_never_got_one(tmp_path: Path) -> None:
    """Rank 1 sends to 3 where it always sent to 2, and 2 waits for it: rank 1 is named, not the circle of waits."""
    ring = {1: ["recv 1<-0", "send 1->2"], 2: ["recv 2<-1", "send 2->3"], 3: ["recv 3<-2"], 0: ["send 0->1"]}
    steps = {rank: [(name, "completed") for name in 3 * names] for rank, names in ring.items()}
    for rank, name in ((1, "send 1->3"), (2, "recv 2<-1"), (3, "recv 3<-2")):
        steps[rank].append((name, "started"))
    assert first(tmp_path, {rank: between(calls, 4) for rank, calls in steps.items()}) == ("p2p-other-rank", "1")


def test_a_receive_from_a_rank_that_sends_to_somebody_else(tmp_path: Path) -> None:
    """Rank 2 got one tensor of rank 0 at the start and all others of rank 1, which waits in a send to it."""
    steps = {0: [("send 0->2", "completed")], 2: [("recv 2<-0", "completed")], 1: []}
    steps[1] += [("send 1->2", "completed")] * 3 + [("send 1->2", "started")]
    steps[2] += [("recv 2<-1", "completed")] * 3 + [("recv 2<-0", "started")]
    assert first(tmp_path, {rank: between(calls, 3) for rank, calls in steps.items()}) == ("p2p-other-rank", "2")


def test_sends_before_the_receives_that_all_of_a_ring_have_called(tmp_path: Path) -> None:
    """Each send has its receive, but behind that rank's own send: on the GPU nobody comes to it."""
    steps = {
        rank: [(f"send {rank}->{(rank + 1) % 3}", "started"), (f"recv {rank}<-{(rank - 1) % 3}", "scheduled")]
        for rank in range(3)
    }
    assert first(tmp_path, {rank: between(calls, 3) for rank, calls in steps.items()}) == ("p2p-circle", "0-2")


def test_a_circle_through_four_groups(tmp_path: Path) -> None:
    """Ranks 0 and 3 take their column before their row, ranks 1 and 2 the row first: all four wait in a circle."""
    rows, columns = {"1": ("row", (0, 1)), "2": ("row", (2, 3))}, {"3": ("col", (0, 2)), "4": ("col", (1, 3))}
    dumps = {}
    for rank in range(6):
        row, column = (str(1 + rank // 2), "row"), (str(3 + rank % 2), "col")
        if rank > 3:  # two more, in groups of their own, that take the row first as well
            row, column = ("5", "row"), ("6", "col")
        world = {**rows, **columns, "5": ("row", (4, 5)), "6": ("col", (4, 5))}
        order = (column, row) if rank in (0, 3) else (row, column)
        states = ("started", "scheduled") if rank < 4 else ("completed", "completed")
        dumps[rank] = dump(
            [entry(seq=1, record=at, group=group, state=states[at]) for at, group in enumerate(order)],
            {name: one for name, one in world.items() if rank in one[1]},
        )
    assert first(tmp_path, dumps) == ("cross-group-wait", "0, 3")


def test_batches_whose_end_a_dump_of_active_calls_leaves_out_are_complete(tmp_path: Path) -> None:
    """Their sends and receives stay in the dump as scheduled; only the batch whose end is there is open."""
    world = {"0": ("default_pg", range(2))}
    dumps = {}
    for rank, other in ((0, 1), (1, 0)):
        names = (f"send {rank}->{other}", f"recv {rank}<-{other}")
        batch = [
            entry(name, seq=seq, record=3 * seq + at, state="scheduled", p2p=True)
            for seq in (1, 2)
            for at, name in enumerate(names)
        ]
        end = entry("coalesced", seq=2, record=8, state="started", p2p=True, sizes=())
        if rank == 0:
            batch, end = batch[:2], entry("all_reduce", seq=1, record=9, state="started")
        dumps[rank] = dump([*batch, end], world)
    kind, ranks = first(tmp_path, dumps)
    assert (kind, ranks) == ("p2p-unmatched", "0")


def test_ranks_that_one_call_lacks_in_several_groups_are_named_together(tmp_path: Path) -> None:
    """A node that stopped is missing in the replicate group of each of its GPUs: that is one finding."""
    groups = {str(i): ("replicate", (i, i + 2)) for i in (0, 1)}
    key = {rank: (str(rank % 2), "replicate") for rank in range(4)}
    mine = {rank: {key[rank][0]: groups[key[rank][0]]} for rank in range(4)}
    dumps = {
        rank: dump(
            [entry(seq=1, record=0, group=key[rank])]
            + ([entry(seq=2, record=1, state="started", group=key[rank])] if rank < 2 else []),
            mine[rank],
        )
        for rank in range(4)
    }
    assert first(tmp_path, dumps) == ("rank-behind", "2, 3")


def test_a_rank_that_waits_elsewhere_is_no_culprit_beside_one_that_does_not(tmp_path: Path) -> None:
    """Ranks 2 and 3 are late in the default group: 2 waits for 3 in a group of theirs, so 3 is named alone."""
    world, pair = {"0": ("default_pg", range(4))}, ("1", "tp")
    both = {**world, "1": ("tp", (2, 3))}
    start = [entry(seq=1, record=0), entry(seq=2, record=1)]
    dumps = {r: dump([*start, entry(seq=3, record=2, state="started")], world) for r in (0, 1)}
    inner = [entry(seq=1, record=2, group=pair)]
    dumps[2] = dump([*start, *inner, entry(seq=2, record=3, state="started", group=pair)], both)
    dumps[3] = dump([*start, *inner], both)
    assert first(tmp_path, dumps)[1] == "3"


def test_a_stage_with_one_micro_batch_more(tmp_path: Path) -> None:
    """The middle of a pipeline makes one exchange more than both its neighbours, which go on: it is named."""

    def steps(rank: int, count: int) -> list[tuple[str, str]]:
        made = []
        for number in range(count):
            state = "completed" if number < 3 else "started"
            made += [(f"{'send' if rank == 0 else 'recv'} {rank}{'->' if rank == 0 else '<-'}{1 - rank}", state)] * (
                rank < 2
            )
            made += [(f"{'send' if rank == 1 else 'recv'} {rank}{'->' if rank == 1 else '<-'}{3 - rank}", state)] * (
                rank > 0
            )
        return made

    dumps = {}
    for rank in range(3):
        calls = [
            entry(name, seq=at + 1, record=at, state=state, p2p=True)
            for at, (name, state) in enumerate(steps(rank, 4 if rank == 1 else 3))
        ]
        end = entry("all_reduce", seq=1, record=20, state="scheduled")
        dumps[rank] = dump([*calls, end], {"0": ("default_pg", range(3))})
    assert first(tmp_path, dumps) == ("p2p-counts-differ", "1")


def test_a_send_that_comes_where_another_call_always_came(tmp_path: Path) -> None:
    """Rank 0 sends twice, where the broadcast always came behind the send: it is named, not the one that receives."""
    once = {0: [("send 0->1", "completed")], 1: [("recv 1<-0", "completed")]}
    dumps = {}
    for rank in (0, 1):
        calls: list[dict[str, Any]] = []
        for number in range(3):
            calls += [entry(once[rank][0][0], seq=len(calls) + 1, record=len(calls), p2p=True)]
            if rank == 0 and number == 2:
                calls += [entry("send 0->1", seq=9, record=len(calls), state="started", p2p=True)]
            state = "completed" if number < 2 else "started" if rank else "scheduled"
            calls += [entry("broadcast", seq=number + 1, record=len(calls), state=state)]
        dumps[rank] = dump(calls, {"0": ("default_pg", range(2))})
    assert first(tmp_path, dumps) == ("p2p-other-rank", "0")


def test_a_scatter_is_compared_by_what_each_rank_gets(tmp_path: Path) -> None:
    """Ranks that are not the root record their own tensor as what goes in; the one with another size is named."""

    def own(rank: int) -> dict[str, Any]:
        size = [[9]] if rank == 2 else [[8]]
        if rank == 0:
            return entry("scatter", seq=1, record=0, state="started", sizes=[[8]] * 4, out=size)
        return entry("scatter", seq=1, record=0, state="started", sizes=size, out=[[0]])

    dumps = {rank: dump([own(rank)], {"0": ("default_pg", range(4))}) for rank in range(4)}
    assert first(tmp_path, dumps) == ("shape-mismatch", "2")


def test_of_two_ranks_in_different_calls_the_one_that_left_its_usual_order(tmp_path: Path) -> None:
    """Rank 0 calls a reduce where an all_gather always came on both: it is named, though nothing outvotes it."""
    made = {rank: ["all_reduce", "all_gather"] * 3 + ["all_reduce"] for rank in (0, 1)}
    made[0].append("reduce")
    made[1].append("all_gather")
    dumps = {
        rank: dump(
            [entry(op, seq=at + 1, record=at, state="completed" if at < 7 else "started") for at, op in enumerate(ops)],
            {"0": ("default_pg", range(2))},
        )
        for rank, ops in made.items()
    }
    assert first(tmp_path, dumps) == ("ranks-called-different-ops", "0")


def test_a_collective_before_a_receive_that_always_came_first(tmp_path: Path) -> None:
    """Rank 1 waits in an all_reduce for rank 0, which waits in its send to it: the receive comes too late."""
    orders = {0: ("send 0->1", "all_reduce"), 1: ("recv 1<-0", "all_reduce")}
    dumps = {}
    for rank, usual in orders.items():
        calls: list[dict[str, Any]] = []
        for number in range(3):
            names = usual[::-1] if rank == 1 and number == 2 else usual
            for name in names:
                state = "completed" if number < 2 else "scheduled"
                seq = number + 1
                calls.append(entry(name, seq=seq, record=len(calls), state=state, p2p=name != "all_reduce"))
        dumps[rank] = dump(calls, {"0": ("default_pg", range(2))})
    assert first(tmp_path, dumps) == ("cross-group-wait", "1")


def test_of_two_groups_that_wait_for_each_other_the_one_that_skipped_a_call(tmp_path: Path) -> None:
    """Rank 1 goes on to its second group without the call of the first that it always made before: it is named."""
    groups = {"1": ("emb", (0, 1)), "2": ("dp", (0, 1))}
    dumps = {}
    for rank in (0, 1):
        calls: list[dict[str, Any]] = []
        for number in range(3):
            for name, group in (("emb", "1"), ("dp", "2")):
                if number == 2 and rank == 1 and name == "emb":
                    continue
                state = "completed" if number < 2 else "started"
                calls.append(entry(seq=number + 1, record=len(calls), state=state, group=(group, name)))
                if number == 2:
                    break
        dumps[rank] = dump(calls, groups)
    assert first(tmp_path, dumps) == ("cross-group-wait", "1")
