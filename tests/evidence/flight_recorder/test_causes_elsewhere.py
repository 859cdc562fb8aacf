"""Ranks that stay away from a call because they stand in another one: which of the two is the cause."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from desyncs import Dumps, write
from recorder_dumps import dump, entry

from distkb.evidence.readers.flight_recorder import find_flight_recorder, read_flight_recorder

WORLD, PAIR = ("0", "default_pg"), ("1", "tp")
GROUPS = {"0": ("default_pg", range(4)), "1": ("tp", (2, 3))}


def said(folder: Path, dumps: Dumps) -> list[tuple[str, str]]:
    """The findings and the ranks that each names, in their order."""
    write(folder, dumps)
    found = read_flight_recorder(find_flight_recorder([folder])).observations
    return [(one.id.removeprefix("flight-recorder."), one.values["ranks"]) for one in found]


def jobs(steps: dict[int, list[dict[str, Any]]], groups: Any = None) -> Dumps:
    """The dumps of ranks whose calls are numbered in the order in which they are given."""
    for calls in steps.values():
        for number, one in enumerate(calls):
            one["record_id"] = number
    return {rank: dump(calls, groups or GROUPS) for rank, calls in steps.items()}


@pytest.mark.parametrize("state", ["started", "scheduled"])
def test_a_call_that_does_not_end_keeps_its_ranks_from_another(state: str, tmp_path: Path) -> None:
    """Ranks 2 and 3 stand in a call of their own that both have made: it comes first, and they are not behind."""
    steps = {r: [entry(seq=1), entry(seq=2, state=state)] for r in (0, 1)}
    steps |= {r: [entry(seq=1), entry(seq=1, state=state, group=PAIR)] for r in (2, 3)}
    assert said(tmp_path, jobs(steps))[0] == ("still-running-on-device", "2, 3")


def test_the_first_of_three_calls_that_wait_for_each_other(tmp_path: Path) -> None:
    """Ranks 0 and 1 wait for 2, 2 for 3, and 3 and 4 stand in a call of theirs: only that one is a cause."""
    groups = {"0": ("default_pg", range(5)), "1": ("tp", (2, 3)), "2": ("ep", (3, 4))}
    steps = {r: [entry(seq=1), entry(seq=2, state="started")] for r in (0, 1)}
    steps[2] = [entry(seq=1), entry(seq=1, state="started", group=PAIR)]
    steps |= {r: [entry(seq=1), entry(seq=1, state="started", group=("2", "ep"))] for r in (3, 4)}
    assert said(tmp_path, jobs(steps, groups))[0] == ("still-running-on-device", "3, 4")


def test_a_rank_whose_partner_went_on_past_the_open_call_is_behind(tmp_path: Path) -> None:
    """Rank 2 made the call of all behind the one that it shares with rank 3: nothing kept rank 3 from it."""
    steps = {r: [entry(seq=1), entry(seq=2, state="started")] for r in (0, 1)}
    steps |= {r: [entry(seq=1), entry(seq=1, state="started", group=PAIR)] for r in (2, 3)}
    steps[2].append(entry(seq=2, state="scheduled"))
    assert said(tmp_path, jobs(steps))[0] == ("rank-behind", "3")


def test_a_rank_whose_call_has_completed_elsewhere_is_behind(tmp_path: Path) -> None:
    """The call of ranks 2 and 3 has completed on rank 2: that rank 3 shows it as open is no reason to stay away."""
    steps = {r: [entry(seq=1), entry(seq=2, state="started")] for r in (0, 1)}
    steps[2] = [entry(seq=1), entry(seq=1, group=PAIR), entry(seq=2, state="started")]
    steps[3] = [entry(seq=1), entry(seq=1, state="started", group=PAIR)]
    assert said(tmp_path, jobs(steps))[0] == ("rank-behind", "3")


def test_a_transfer_that_does_not_end_keeps_its_ranks_from_a_collective(tmp_path: Path) -> None:
    """Ranks 2 and 3 both began a send and its receive: that comes before their absence."""
    steps = {r: [entry(seq=1), entry(seq=2, state="started")] for r in (0, 1)}
    for rank, name in ((2, "send 0->1"), (3, "recv 1<-0")):
        steps[rank] = [entry(seq=1), entry(name, seq=1, state="started", p2p=True, group=PAIR)]
    assert said(tmp_path, jobs(steps))[0] == ("p2p-not-finished", "2, 3")


def test_who_waits_on_the_cpu_for_a_call_that_all_are_in_is_not_behind(tmp_path: Path) -> None:
    """Rank 0 waits for the result of #2, which is open on all, while the others already called #3."""
    steps = {r: [entry(seq=1), entry(seq=2, state="started"), entry(seq=3, state="scheduled")] for r in (1, 2, 3)}
    steps[0] = [entry(seq=1), entry(seq=2, state="started")]
    assert said(tmp_path, jobs(steps))[0] == ("still-running-on-device", "0-3")


def test_of_calls_that_run_the_one_that_others_wait_behind(tmp_path: Path) -> None:
    """Ranks 0 and 1 called their own collective behind a receive: it has begun on no GPU, and is not the cause."""
    groups = {"0": ("default_pg", range(4)), "1": ("tp", (2, 3)), "2": ("tp", (0, 1)), "3": ("pp", range(4))}
    steps: dict[int, list[dict[str, Any]]] = {
        r: [
            entry(f"recv {r}<-{r + 2}", seq=1, state="started", p2p=True, group=("3", "pp")),
            entry(seq=1, state="scheduled", group=("2", "tp")),
        ]
        for r in (0, 1)
    }
    for r in (2, 3):
        steps[r] = [
            entry(seq=1, state="started", group=PAIR),
            entry(f"send {r}->{r - 2}", seq=1, state="scheduled", p2p=True, group=("3", "pp")),
        ]
    assert said(tmp_path, jobs(steps, groups))[0] == ("still-running-on-device", "2, 3")


def test_a_receive_from_a_rank_in_a_collective_that_does_not_end_is_no_cause(tmp_path: Path) -> None:
    """Rank 0 waits for a send that rank 2 makes behind the collective in which it stands with rank 3."""
    steps = {0: [entry("recv 0<-2", seq=1, state="started", p2p=True)], 1: [entry(seq=1)]}
    steps |= {r: [entry(seq=1, state="started", group=PAIR)] for r in (2, 3)}
    steps[1] = []
    assert said(tmp_path, jobs(steps))[0] == ("still-running-on-device", "2, 3")


@pytest.mark.parametrize(("ahead", "finding"), [(1, "still-running-on-device"), (3, "dumps-not-at-once")])
def test_a_rank_that_shows_an_open_call_before_completed_ones_was_dumped_earlier(
    ahead: int, finding: str, tmp_path: Path
) -> None:
    """On one GPU calls end in their order: who has not come to what others completed since is of another moment."""
    steps = {r: [entry(seq=n) for n in (1, 2, 3, 4)] for r in (0, 1, 2)}
    steps[3] = [entry(seq=n, state="completed" if n < 5 - ahead else "scheduled") for n in (1, 2, 3, 4)]
    assert said(tmp_path, jobs(steps)) == [(finding, "3")]


def test_a_butterfly_whose_partner_is_gone_names_the_partner(tmp_path: Path) -> None:
    """In round three rank 1 waits for rank 5, with which it never exchanged before, and nobody waits for rank 1."""
    assert said(tmp_path, butterfly(odd=-1, stops=5))[0] == ("p2p-unmatched", "5")


def test_a_butterfly_in_which_one_takes_another_partner(tmp_path: Path) -> None:
    """Rank 5 exchanges with rank 7 again, and rank 1 waits for it: turning that one call round makes all match."""
    assert said(tmp_path, butterfly(odd=5, stops=-1))[0] == ("p2p-other-rank", "5")


def butterfly(odd: int, stops: int) -> Dumps:
    """Three rounds of exchanges with the rank that differs in one bit; in the third one rank errs or stops."""
    dumps = {}
    for rank in range(8):
        made: list[dict[str, Any]] = []
        for bit in (0, 1, 2):
            if bit == 2 and rank == stops:
                break
            other = rank ^ (1 << (1 if (rank, bit) == (odd, 2) else bit))
            is_open = bit == 2 and rank in {stops ^ 4, odd, odd ^ 4}
            for name in (f"send {rank}->{other}", f"recv {rank}<-{other}"):
                made.append(entry(name, seq=bit + 1, record=len(made), state="scheduled", p2p=True))
            state = "started" if is_open else "completed"
            made.append(entry("coalesced", seq=bit + 1, record=len(made), sizes=[], state=state, p2p=True))
        dumps[rank] = dump(made, {"0": ("default_pg", range(8))})
    return dumps


def test_a_number_of_a_group_is_not_taken_for_that_of_another(tmp_path: Path) -> None:
    """Three ranks wait in a circle of pairs: the status of a group under the number of one never called is not its."""
    pairs = {"1": ("g01", (0, 1)), "2": ("g12", (1, 2)), "3": ("g02", (0, 2))}
    own = {0: ["g01", "g02"], 1: ["g01", "g12"], 2: ["g12", "g02"]}
    stands = {0: ("1", "g01"), 1: ("2", "g12"), 2: ("3", "g02")}
    status = {"last_enqueued_collective": 1, "last_started_collective": -1, "last_completed_collective": -1}
    dumps = {}
    for rank, group in stands.items():
        one = entry(seq=1, state="scheduled", group=group)
        one["pg_id"] = 1 + own[rank].index(group[1])
        groups = {name: pair for name, pair in pairs.items() if rank in pair[1]}
        dumps[rank] = dump([one], groups)
        dumps[rank]["pg_status"] = {str(one["pg_id"]): status}
    assert said(tmp_path, dumps)[0][0] == "cross-group-wait"
