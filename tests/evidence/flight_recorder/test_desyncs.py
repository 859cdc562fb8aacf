"""Which rank, which call, which group: jobs in which one thing is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from desyncs import CASES, Case, World, common, job, write
from recorder_dumps import dump, entry

from distkb.evidence.artifact import ArtifactReading
from distkb.evidence.readers.flight_recorder import find_flight_recorder, read_flight_recorder
from distkb.evidence.readers.flight_recorder.calls import difference, parse_call

RECORDED = Path(__file__).parent / "recorded"
"""Dumps of one rank with torch 2.11 and NCCL 2.28.9 on an H100, taken by the watchdog, as torch wrote them."""


def read(folder: Path, dumps: dict[int, dict[str, Any]]) -> ArtifactReading:
    """Write the dumps and read the folder."""
    write(folder, dumps)
    return read_flight_recorder(find_flight_recorder([folder]))


def found(reading: ArtifactReading) -> dict[str, dict[str, str]]:
    """Values of the findings by the last part of their id."""
    return {o.id.removeprefix("flight-recorder."): o.values for o in reversed(reading.observations)}


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_first_finding_names_the_cause_and_the_ranks(case: Case, tmp_path: Path) -> None:
    """What differs comes first, with the ranks that differ."""
    first = read(tmp_path, case.dumps).observations[0]
    assert (first.id, first.values["ranks"]) == (case.finding, case.culprits)


def test_what_torch_gets_right_comes_out_the_same(tmp_path: Path) -> None:
    """On these jobs torch's own analyser names the same ranks, and the same kind of mismatch."""
    judged = [case for case in CASES if case.torch_says is not None]
    assert len(judged) >= 10
    folders = {str(tmp_path / case.name): case for case in judged}
    for folder, case in folders.items():
        write(Path(folder), case.dumps)
    script = Path(__file__).parent / "torch_analyser.py"
    done = subprocess.run([sys.executable, str(script), *folders], capture_output=True, text=True, check=True)
    theirs = json.loads(done.stdout.split("RESULT ", 1)[1])
    for folder, case in folders.items():
        ours = read_flight_recorder(find_flight_recorder([Path(folder)])).observations[0]
        ranks = _ranks(ours.values["ranks"])
        assert theirs[folder] == {"ranks": ranks, "kind": case.torch_says}, case.name
        assert ours.id == case.finding


def _ranks(text: str) -> list[int]:
    ranks: list[int] = []
    for piece in text.split(", "):
        first, _, last = piece.partition("-")
        ranks.extend(range(int(first), int(last or first) + 1))
    return ranks


def test_the_sentence_has_the_calls_the_lines_and_the_last_one(tmp_path: Path) -> None:
    """Who waits, in which call at which line, and what the absent rank called last."""
    behind = next(case for case in CASES if case.name == "behind")
    values = found(read(tmp_path, behind.dumps))["rank-behind"]
    assert values["others"] == "0-2"
    assert values["call"] == "all_reduce #3 (train.py:142)"
    assert values["shown"] == "all_reduce #2 (train.py:142)"
    assert values["group"] == "default"


def test_the_line_is_the_users_own(tmp_path: Path) -> None:
    """Frames of torch and of libraries are passed over."""
    case = next(case for case in CASES if case.name == "other-op")
    quotes = read(tmp_path, case.dumps).observations[0].quotes
    assert [(q.path, q.line, q.rank) for q in quotes] == [("/app/utils.py", 88, 2), ("/app/train.py", 150, 0)]


def test_a_call_left_out_is_named(tmp_path: Path) -> None:
    """A rank whose calls are the others', one number later, left out exactly that call."""
    ops = ["all_reduce", "broadcast", "_all_gather_base", "barrier", "all_reduce", "broadcast"]

    def steps(rank: int) -> list[dict[str, Any]]:
        mine = [op for i, op in enumerate(ops) if not (rank == 1 and i == 2)]
        return [entry(op, seq=i + 1, record=i, at=f"/app/{op}.py:1") for i, op in enumerate(mine)]

    values = found(read(tmp_path, job(steps)))
    assert values["ranks-called-different-ops"]["seq"] == "3"
    assert (values["call-left-out"]["ranks"], values["call-left-out"]["call"]) == (
        "1",
        "_all_gather_base #3 (_all_gather_base.py:1)",
    )


def test_several_mismatches_are_all_told(tmp_path: Path) -> None:
    """The first mismatch does not hide one of another rank later on."""

    def steps(rank: int) -> list[dict[str, Any]]:
        shapes = [(4,), (4,), (9 if rank == 1 else 4,), (4,), (7 if rank == 6 else 4,)]
        return [entry(seq=i + 1, record=i, sizes=(shape,)) for i, shape in enumerate(shapes)]

    groups = {"0": ("default_pg", range(8))}
    reading = read(tmp_path, {rank: dump(steps(rank), groups) for rank in range(8)})
    assert [(o.id, o.values["ranks"], o.values["seq"]) for o in reading.observations] == [
        ("flight-recorder.shape-mismatch", "1", "3"),
        ("flight-recorder.shape-mismatch", "6", "5"),
    ]


def test_a_missing_dump_is_said_with_the_call_that_waits(tmp_path: Path) -> None:
    """A rank of the group that left no file."""
    dumps = job(lambda _: common(3, last="started"), ranks=(0, 1, 3))
    reading = read(tmp_path, dumps)
    values = found(reading)["rank-missing"]
    assert (values["ranks"], values["others"], values["call"]) == ("2", "0, 1, 3", "all_reduce #3 (train.py:142)")
    assert reading.facts["missing"] == "2"


def test_all_complete_is_said_as_such(tmp_path: Path) -> None:
    """Nobody waits in a collective: the stacks say more."""
    reading = read(tmp_path, job(lambda _: common(3)))
    assert [o.id for o in reading.observations] == ["flight-recorder.all-complete"]
    assert "implies" not in reading.facts


def test_windows_that_do_not_touch_are_too_short(tmp_path: Path) -> None:
    """What was overwritten is not invented."""

    def steps(rank: int) -> list[dict[str, Any]]:
        start = 10 if rank == 2 else 900
        return [entry("broadcast", seq=seq, record=seq - 1) for seq in range(start, start + 20)]

    assert found(read(tmp_path, job(steps)))["recorder-too-short"]["ranks"] == "2"


def test_an_older_dump_is_not_called_behind(tmp_path: Path) -> None:
    """A completed all_reduce needs every rank: who seems not to have called it was dumped before."""
    reading = read(tmp_path, job(lambda rank: common(2 if rank == 1 else 3)))
    assert [o.id for o in reading.observations] == ["flight-recorder.dumps-not-at-once"]


def test_who_waits_elsewhere_comes_after_the_cause(tmp_path: Path) -> None:
    """Ranks that are late in one group because they wait in another are a consequence."""

    def steps(rank: int) -> list[dict[str, Any]]:
        group = ("1", "tp")
        if rank == 3:
            return common(2)
        if rank == 2:
            return [*common(2), entry(seq=1, record=2, group=group, state="started", at="/app/tp.py:3")]
        return [*common(2), entry(seq=3, record=2, state="started")]

    groups = {**World, "1": ("tp", (2, 3))}
    reading = read(tmp_path, job(steps, groups=groups))
    assert (reading.observations[0].id, reading.observations[0].values["ranks"]) in (
        ("flight-recorder.never-scheduled-on-rank", "3"),
        ("flight-recorder.rank-behind", "3"),
    )


@pytest.mark.parametrize("wrapped", [0, 5000])
def test_a_send_without_its_receive(tmp_path: Path, wrapped: int) -> None:
    """Sends and receives pair in order; the one that is left waits."""

    def steps(rank: int) -> list[dict[str, Any]]:
        def call(op: str, n: int, state: str = "completed") -> dict[str, Any]:
            return entry(op, seq=n, record=wrapped + n, p2p=True, state=state, at="/app/pipe.py:30")

        if rank == 0:
            return [call("send 0->1", 1), call("send 0->1", 2, "started")]
        return (
            [call("recv 1<-0", 1), call("send 1->2", 2, "started")] if rank == 1 else [call("recv 2<-3", 1, "started")]
        )

    groups = {"0": ("default_pg", range(3))}
    reading = read(tmp_path, {rank: dump(steps(rank), groups) for rank in range(3)})
    assert {(o.values["from"], o.values["to"]) for o in reading.observations} == {("0", "1"), ("1", "2")}
    assert {o.id for o in reading.observations} == {"flight-recorder.p2p-unmatched"}


def test_a_send_of_another_size(tmp_path: Path) -> None:
    """A pair whose sizes differ is named with both."""
    sides = {
        0: [entry("send 0->1", seq=1, record=0, p2p=True, sizes=((4,),), state="started")],
        1: [entry("recv 1<-0", seq=1, record=0, p2p=True, sizes=((8,),), state="started")],
    }
    reading = read(tmp_path, {rank: dump(calls, {"0": ("default_pg", range(2))}) for rank, calls in sides.items()})
    values = found(reading)["p2p-sizes-differ"]
    assert (values["tensors"], values["other_tensors"]) == ("[4] Float", "[8] Float")


def test_calls_inside_a_coalesced_group_take_its_state(tmp_path: Path) -> None:
    """Only the entry that ends the group is tracked: the others stay scheduled and yet are complete."""

    def steps(rank: int) -> list[dict[str, Any]]:
        inside = [
            entry("all_reduce", seq=3, record=2 + i, state="scheduled", sizes=((5 if rank == 2 and i else 4,),))
            for i in range(2)
        ]
        return [*common(2), *inside, entry("allreduce_coalesced", seq=3, record=4, sizes=())]

    assert found(read(tmp_path, job(steps)))["shape-mismatch"]["other_tensors"] == "[5] Float"
    same = job(lambda _: steps(0))
    assert [o.id for o in read(tmp_path / "same", same).observations] == ["flight-recorder.all-complete"]


def test_device_that_has_not_begun(tmp_path: Path) -> None:
    """All called it; on one GPU it has not begun: that rank is named, and no link is suspected."""

    def steps(rank: int) -> list[dict[str, Any]]:
        return common(3, last="scheduled" if rank == 1 else "started")

    values = found(read(tmp_path, job(steps)))
    assert values["not-started-on-device"]["ranks"] == "1"
    assert "still-running-on-device" not in values


def test_no_device_has_begun(tmp_path: Path) -> None:
    """Where beginnings are recorded, a call that is only scheduled everywhere has begun nowhere."""
    dumps = job(lambda _: common(3, last="scheduled"))
    assert "not-started-on-device" not in found(read(tmp_path, dumps))
    for document in dumps.values():
        document["pg_status"] = {"0": {"last_started_collective": 2}}
    values = found(read(tmp_path / "timed", dumps))
    assert (values["not-started-on-device"]["ranks"], values["not-started-on-device"]["others"]) == ("0-3", "-")


@pytest.mark.parametrize(("timing", "says"), [(True, True), (False, False)])
def test_an_h100_that_is_still_busy(timing: bool, says: bool) -> None:
    """A real dump of one rank whose GPU computes: that the all_reduce has not begun is said where it was recorded."""
    reading = read_flight_recorder([RECORDED / ("timing" if timing else "no-timing") / "nccl_trace_rank_0"])
    values = found(reading)
    assert values["still-running-on-device"]["call"] == "all_reduce #4 (train.py:180)"
    assert ("not-started-on-device" in values) is says


@pytest.mark.parametrize(
    ("op", "other", "expected"),
    [
        ("all_reduce", {"dtypes": ("Half",)}, "dtype"),
        ("broadcast", {"out": [[]]}, "shape"),
        ("reduce", {"out": [[8]]}, "shape"),
        ("gather", {"out": [[]], "out_dtypes": ()}, None),
        ("gather", {"sizes": [[8]]}, "shape"),
        ("scatter", {"sizes": [[]], "dtypes": (), "out_dtypes": ("Float",), "out": [[4, 3]]}, None),
        ("all_to_all", {"sizes": [[8]], "out": [[2]]}, None),
        ("all_to_all_single", {"sizes": [[8]]}, "shape"),
    ],
)
def test_what_must_agree(op: str, other: dict[str, Any], expected: str | None) -> None:
    """As torch's own analyser has it: only a scatter's inputs and a gather's outputs are the root's own."""
    one = parse_call(entry(op, seq=1))
    assert difference(one, parse_call(entry(op, seq=1, **other)), 0) == expected


def test_who_has_begun_a_call_is_no_partner_of_a_circle(tmp_path: Path) -> None:
    """Rank 0 waits in both groups, rank 1 left the call of the small one out: that is the cause, and no deadlock."""

    def steps(rank: int) -> list[dict[str, Any]]:
        small = entry(seq=1, record=1, group=("1", "tp"), state="started", at="/app/tp.py:9")
        own = [small] if rank == 0 else []
        return [entry(seq=1, record=0), *own, entry(seq=2, record=2, state="started")]

    reading = read(tmp_path, job(steps, ranks=range(2), groups={"0": ("default_pg", (0, 1)), "1": ("tp", (0, 1))}))
    first = reading.observations[0]
    assert (first.id, first.values["ranks"]) == ("flight-recorder.never-scheduled-on-rank", "1")
