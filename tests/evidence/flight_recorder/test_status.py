"""What `pg_status` tells where entries are gone, left out or overwritten; and what it must not be taken for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from desyncs import Dumps, write
from recorder_dumps import dump, entry

from distkb.evidence.readers.flight_recorder import find_flight_recorder, read_flight_recorder
from distkb.evidence.readers.flight_recorder.status import Status, keys_of_groups, read_status
from distkb.evidence.readers.flight_recorder.track import GroupKey

WORLD = {"0": ("default_pg", range(4))}
Numbers = tuple[int, int, int]
"""Last call enqueued, started and completed."""


def status(*groups: Numbers, keys: tuple[str, ...] = ("0", "1", "2")) -> dict[str, Any]:
    """`pg_status` of the groups in their order."""
    names = ("last_enqueued_collective", "last_started_collective", "last_completed_collective")
    return {key: dict(zip(names, numbers, strict=True)) for key, numbers in zip(keys, groups, strict=False)}


def bare(statuses: dict[int, dict[str, Any]], groups: Any = None) -> Dumps:
    """Dumps without collectives: what was used and how far, and nothing else."""
    found = {}
    for rank, one in statuses.items():
        used = {name: of for name, of in (groups or WORLD).items() if rank in of[1]}
        found[rank] = {**dump([], used), "pg_status": one}
        del found[rank]["entries"]
    return found


def said(folder: Path) -> list[tuple[str, str]]:
    """The findings and the ranks that each names, in their order."""
    found = read_flight_recorder(find_flight_recorder([folder])).observations
    return [(one.id.removeprefix("flight-recorder."), one.values["ranks"]) for one in found]


@pytest.mark.parametrize("as_text", [True, False])
def test_a_rank_behind_is_told_by_the_status_alone(as_text: bool, tmp_path: Path) -> None:
    """Three ranks have begun a call that the fourth has not made; torch writes the numbers as texts in JSON."""
    made = {r: status((8, 8, 7) if r != 2 else (7, 7, 7)) for r in range(4)}
    if as_text:
        made = {r: {key: {k: str(v) for k, v in one.items()} for key, one in own.items()} for r, own in made.items()}
    for rank, document in bare(made).items():
        (tmp_path / f"status_{rank}.json").write_text(json.dumps(document))
    assert said(tmp_path) == [("rank-behind", "2")]


@pytest.mark.parametrize(
    ("odd", "expected"),
    [((8, 8, 7), ("still-running-on-device", "0-3")), ((8, 7, 7), ("not-started-on-device", "1"))],
)
def test_a_call_that_all_are_in_is_told_by_the_status_alone(
    odd: Numbers, expected: tuple[str, str], tmp_path: Path
) -> None:
    """All have made it; where one has not begun it and the others have, that one is named."""
    write(tmp_path, bare({r: status(odd if r == 1 else (8, 8, 7)) for r in range(4)}))
    assert said(tmp_path)[0] == expected


def test_a_status_at_rest_is_a_healthy_job(tmp_path: Path) -> None:
    """What was called has ended everywhere."""
    write(tmp_path, bare({r: status((8, -1, 8)) for r in range(4)}))
    assert said(tmp_path) == [("all-complete", "0-3")]


def test_numbers_of_sends_and_receives_are_not_compared(tmp_path: Path) -> None:
    """The stages of a pipeline make different numbers of calls: none of them is behind."""
    groups = {"0": ("pp", range(4))}
    write(tmp_path, bare({r: status((n, n, n)) for r, n in enumerate((8, 16, 16, 8))}, groups))
    assert not said(tmp_path)


def test_who_waits_for_whom_in_two_groups(tmp_path: Path) -> None:
    """Rank 3 has stopped; rank 2 waits for it in their own group and the others in that of all."""
    groups = {**WORLD, "7": ("tp", (0, 1)), "9": ("tp", (2, 3))}
    made = {r: status((5, 5, 4), (3, 3, 3)) for r in (0, 1)}
    made |= {2: status((4, 4, 4), (3, 3, 2)), 3: status((4, 4, 4), (2, 2, 2))}
    write(tmp_path, bare(made, groups))
    assert ("rank-behind", "3") in said(tmp_path)


def test_numbers_of_any_type_are_read_or_left(tmp_path: Path) -> None:
    """Texts count as numbers, and what is none as nothing."""
    del tmp_path
    odd = {"0": {"last_enqueued_collective": "12", "last_started_collective": "-1", "last_completed_collective": [3]}}
    assert read_status({**odd, "1": 7, "2": {}, "3": {"last_enqueued_collective": None}}) == {
        "0": Status(12, -1, 0),
        "3": Status(-1, -1, -1),
    }
    assert read_status([1]) == {}


@pytest.mark.parametrize(
    ("names", "keys", "expected"),
    [
        (("0:default_pg", "12:tp", "5:dp"), "0 1 2", "0 2 1"),
        (("0:default_pg", "a3f:tp"), "0 1", "0 1"),
        (("0:default_pg", "a3f:tp", "b77:dp"), "0 1 2", "0 - -"),
        (("0:default_pg", "12:tp", "5:dp"), "0 1", "0 - -"),
        (("world:default_pg", "12:tp"), "tp world", "world tp"),
    ],
)
def test_groups_are_found_in_the_status(names: tuple[str, ...], keys: str, expected: str) -> None:
    """By order where names are numbers, by name or description where these are the keys, and else not at all."""
    groups = [GroupKey(*name.split(":")) for name in names]
    found = keys_of_groups(groups, dict.fromkeys(keys.split(), Status(1, 1, 1)), {})
    assert " ".join(found.get(group, "-") for group in groups) == expected


def test_a_group_that_the_status_lacks_was_never_called_in(tmp_path: Path) -> None:
    """The ring buffer of rank 3 has wrapped, yet its status counts the calls of all groups: it never made that one."""
    groups = {**WORLD, "1": ("eval", (2, 3))}
    dumps: Dumps = {}
    for rank in range(4):
        calls = [entry(seq=n, record=50 + n) for n in (7, 8)]
        if rank == 2:
            calls.append(entry(seq=1, record=59, state="started", group=("1", "eval")))
            calls[-1]["pg_id"] = 1
        dumps[rank] = dump(calls, groups if rank == 2 else WORLD)
        dumps[rank]["pg_config"]["1"] = {"name": "1", "desc": "eval", "ranks": "[2, 3]"}
        dumps[rank]["pg_status"] = status((8, 8, 8), (1, 1, 0)) if rank == 2 else status((8, 8, 8))
    write(tmp_path, dumps)
    assert said(tmp_path)[0] == ("never-scheduled-on-rank", "3")


@pytest.mark.parametrize(("last", "expected"), [(None, "recorder-too-short"), (4, "rank-behind")])
def test_calls_that_all_others_have_overwritten(last: int | None, expected: str, tmp_path: Path) -> None:
    """Whether they made the call in which rank 0 waits is said by their status, and without it by nobody."""
    groups = {**WORLD, "1": ("rest", (1, 2, 3))}
    dumps = {0: dump([entry(seq=5, record=90, state="scheduled")], groups)}
    for rank in (1, 2, 3):
        calls = [entry(seq=n, record=80 + n, group=("1", "rest")) for n in range(10, 14)]
        dumps[rank] = dump(calls, groups)
        if last is not None:
            for one in calls:
                one["pg_id"] = 1
            dumps[rank]["pg_status"] = status((last, -1, last), (13, -1, 13))
    write(tmp_path, dumps)
    assert said(tmp_path) == [(expected, "1-3")]


def batches(first: int, count: int, name: str, *, open_from: int = 1 << 20) -> list[dict[str, Any]]:
    """Batches of one call in a dump of active calls: the ends of those that completed are left out."""
    made = []
    for number in range(first, first + count):
        made.append(entry(name, seq=number, record=2 * number, state="scheduled", p2p=True))
        if number >= open_from:
            end = entry("coalesced", seq=number, record=2 * number + 1, sizes=[], state="scheduled", p2p=True)
            made.append(end)
    return made


def test_parts_of_batches_that_have_ended_are_not_open(tmp_path: Path) -> None:
    """They stay scheduled in a dump of active calls; the status says that all has ended."""
    for rank, name in ((0, "send 0->1"), (1, "recv 1<-0")):
        document = dump(batches(3, 4, name), {"0": ("default_pg", range(2))})
        document["pg_status"] = status((6, -1, 6))
        write(tmp_path, {rank: document})
    assert said(tmp_path) == [("all-complete", "0, 1")]


def test_parts_of_batches_up_to_what_the_status_says_has_ended(tmp_path: Path) -> None:
    """Rank 1 stopped after two batches; the third send of rank 0 is the one that waits, and not its first."""
    groups = {"0": ("default_pg", range(2))}
    sender = dump(batches(3, 4, "send 0->1", open_from=5), groups) | {"pg_status": status((6, -1, 4))}
    receiver = dump(batches(3, 2, "recv 1<-0"), groups) | {"pg_status": status((4, -1, 4))}
    write(tmp_path, {0: sender, 1: receiver})
    first = read_flight_recorder(find_flight_recorder([tmp_path])).observations[0]
    assert (first.id, first.values["ranks"]) == ("flight-recorder.p2p-unmatched", "1")
    assert first.values["call"].startswith("send 0→1 #5")


def test_a_receive_with_the_number_of_a_completed_collective_is_open(tmp_path: Path) -> None:
    """Both are #1 of their kind, and the status counts them alike: a single call is not taken for a batch's part."""
    groups = {"0": ("default_pg", range(2))}
    waits = entry("recv 0<-1", seq=1, record=1, state="scheduled", p2p=True)
    write(tmp_path, {0: dump([waits], groups) | {"pg_status": status((1, -1, 1))}, 1: dump([], groups)})
    assert said(tmp_path)[0][0] == "p2p-unmatched"


def test_parts_of_a_gather_of_unequal_pieces_that_has_ended(tmp_path: Path) -> None:
    """They too stay in a dump of active calls; what waits is the call behind them."""
    dumps = {}
    for rank in range(4):
        parts = [entry("_broadcast_oop", seq=1, record=at, state="scheduled", sizes=[[at + 1]]) for at in range(4)]
        last = entry(seq=2, record=5, state="scheduled")
        dumps[rank] = dump(parts if rank == 3 else [*parts, last], WORLD)
        dumps[rank]["pg_status"] = status((1, -1, 1) if rank == 3 else (2, -1, 1))
    write(tmp_path, dumps)
    assert said(tmp_path)[0] == ("rank-behind", "3")


def test_gloo_counts_sends_in_its_status_and_not_in_its_entries(tmp_path: Path) -> None:
    """The larger numbers of ranks that sent to each other are no calls that the others lack."""
    dumps = {}
    for rank in range(4):
        calls = [entry(seq=n, record=n - 1, state="scheduled", backend="gloo", retired=True) for n in (1, 2)]
        dumps[rank] = dump(calls, {}) | {"pg_config": {"": {"name": "", "desc": "", "ranks": "[]"}}}
        number = 3 if rank < 2 else 2
        dumps[rank]["pg_status"] = status((number, -1, number))
    write(tmp_path, dumps)
    assert said(tmp_path) == [("all-complete", "0-3")]


@pytest.mark.parametrize(("op", "roots", "expected"), [("gather", (0, 1), "roots-differ"), ("scatter", (), "no-root")])
def test_the_root_of_gloo_holds_one_tensor(op: str, roots: tuple[int, ...], expected: str, tmp_path: Path) -> None:
    """Gloo records the root's list as one tensor with a dimension more, and nothing on the others."""
    dumps = {}
    for rank in range(3):
        made = []
        for number in (1, 2, 3):
            is_root = rank in (roots if number == 3 else (0,))
            sides = [[5]], [[3, 5]] if is_root else []
            sizes, out = sides if op == "gather" else sides[::-1]
            one = entry(op, seq=number, record=number - 1, sizes=sizes, out=out, backend="gloo", retired=number < 3)
            made.append({**one, "state": "scheduled"})
        dumps[rank] = dump(made, WORLD)
        dumps[rank]["pg_config"] = {"": {"name": "", "desc": "", "ranks": "[]"}}
    write(tmp_path, dumps)
    assert said(tmp_path)[0] == (expected, "1" if roots else "0")
