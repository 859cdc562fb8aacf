"""Puts problems into findings of the catalogue: values for their sentences, and the calls that show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePath

from distkb.evidence.observation import Observation, Quote
from distkb.evidence.readers.flight_recorder.align import most_common_place
from distkb.evidence.readers.flight_recorder.dump import Tables
from distkb.evidence.readers.flight_recorder.place import CallSite
from distkb.evidence.readers.flight_recorder.problem import At, Problem
from distkb.evidence.readers.flight_recorder.track import STATE_NAMES, Track
from distkb.evidence.text.clean import quote_text
from distkb.evidence.text.ranks import listed

NONE = "-"
IDS = {
    "op": "flight-recorder.ranks-called-different-ops",
    "shape": "flight-recorder.shape-mismatch",
    "dtype": "flight-recorder.dtype-mismatch",
    "behind": "flight-recorder.rank-behind",
    "never": "flight-recorder.never-scheduled-on-rank",
    "missing": "flight-recorder.rank-missing",
    "running": "flight-recorder.still-running-on-device",
    "cross": "flight-recorder.cross-group-wait",
    "peer": "flight-recorder.p2p-unmatched",
    "peer-size": "flight-recorder.p2p-sizes-differ",
    "stray": "flight-recorder.p2p-other-rank",
    "count": "flight-recorder.p2p-counts-differ",
    "unusual": "flight-recorder.unusual-call",
    "transfer": "flight-recorder.p2p-not-finished",
    "circle": "flight-recorder.p2p-circle",
    "root": "flight-recorder.roots-differ",
    "no-root": "flight-recorder.no-root",
    "too-short": "flight-recorder.recorder-too-short",
    "not-at-once": "flight-recorder.dumps-not-at-once",
    "exchange": "flight-recorder.all-to-all-uneven",
}
CALL_LEFT_OUT = "flight-recorder.call-left-out"
ALL_COMPLETE = "flight-recorder.all-complete"
NOT_STARTED = "flight-recorder.not-started-on-device"
LOOKED_FOR = (*IDS.values(), CALL_LEFT_OUT, ALL_COMPLETE, NOT_STARTED)
_NO_HANG = frozenset(("shape", "dtype", "missing", "too-short", "not-at-once"))
HANGS = frozenset(IDS) - _NO_HANG


class CallWords:
    """Says calls and places in words that are the same in every language."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def place(self, number: int) -> str:
        """Return `train.py:142`, or nothing where no stack was recorded."""
        place = self._tables.places[number]
        return "" if place is None else quote_text(f"{PurePath(place.path).name}:{place.line}")

    def call(self, track: Track, position: int, place: int | None = None) -> str:
        """Return `all_reduce #1042 (train.py:142)`."""
        call = self._tables.calls[track.calls[position]]
        where = self.place(track.places[position] if place is None else place)
        name = call.op
        if call.source >= 0:
            name += f" {call.source}→{call.target}"
        text = f"{name} #{track.sequence[position]}"
        return quote_text(f"{text} ({where})" if where else text)

    def tensors(self, track: Track, position: int) -> str:
        """Return shapes and dtypes of a call."""
        return quote_text(self._tables.calls[track.calls[position]].tensors())

    def quote(self, track: Track, position: int, rank: int) -> Quote:
        """Return a call as evidence: its line in the user's program, and what was recorded of it."""
        place: CallSite | None = self._tables.places[track.places[position]]
        state = STATE_NAMES[track.states[position]]
        call = self._tables.calls[track.calls[position]]
        text = f"{self.call(track, position, 0)} {call.tensors()}, {state}"
        return Quote(
            text=quote_text(text),
            path=None if place is None else quote_text(place.path),
            line=None if place is None else place.line,
            rank=rank,
        )


def observations(problems: Sequence[Problem], tables: Tables) -> tuple[Observation, ...]:
    """Return the findings in the order of the problems; an explanation follows what it explains."""
    words = CallWords(tables)
    found: list[Observation] = []
    for problem in problems:
        quiet = problem.detail.get("not_started", "")
        if quiet:
            found.append(_not_started(problem, words))
        if not quiet or len(quiet.split(",")) == len(problem.culprits):
            found.append(_observation(problem, words))
        if problem.left_out:
            found.append(_left_out(problem, words))
    return tuple(found)


def all_complete(ranks: Iterable[int]) -> Observation:
    """Return the finding for dumps in which no call is open."""
    return Observation(id=ALL_COMPLETE, source="probe", values={"ranks": listed(ranks)})


def _track(problem: Problem, at: At) -> Track:
    return (problem.group.peers if at.is_peer else problem.group.tracks)[at.rank]


def _observation(problem: Problem, words: CallWords) -> Observation:
    values = {
        "group": quote_text(problem.group.label + (f" (+{problem.alike})" if problem.alike else "")),
        "ranks": listed(problem.culprits) or NONE,
        "others": listed(problem.others) or NONE,
        "seq": str(problem.sequence),
        "call": NONE,
        "shown": NONE,
        "tensors": NONE,
        "other_tensors": NONE,
        "later": str(problem.later),
        "missing_calls": problem.detail.get("missing_calls", NONE),
        "from": problem.detail.get("from", NONE),
        "to": problem.detail.get("to", NONE),
        "sent": problem.detail.get("sent", NONE),
        "received": problem.detail.get("received", NONE),
    }
    quotes = []
    if problem.expected is not None:
        track, at = _track(problem, problem.expected), problem.expected.position
        place = None
        if not problem.expected.is_peer:
            place = most_common_place(problem.group, problem.others or problem.culprits, track.sequence[at]) or None
        values["call"] = words.call(track, at, place)
        values["tensors"] = words.tensors(track, at)
        quotes.append(words.quote(track, at, problem.expected.rank))
    if problem.shown is not None:
        group = problem.other_group if problem.kind == "cross" else problem.group
        track = (
            (problem.group.peers if problem.shown.is_peer else problem.group.tracks)
            if group is None or group is problem.group
            else group.tracks
        )[problem.shown.rank]
        values["shown"] = words.call(track, problem.shown.position)
        values["other_tensors"] = words.tensors(track, problem.shown.position)
        quotes.insert(0, words.quote(track, problem.shown.position, problem.shown.rank))
    if problem.other_group is not None:
        values["other_group"] = quote_text(problem.other_group.label)
    return Observation(id=IDS[problem.kind], source="probe", values=values, quotes=tuple(quotes))


def _left_out(problem: Problem, words: CallWords) -> Observation:
    """Say that one call explains the mismatch: one side made it and the other did not."""
    if problem.left_out > 0:
        at, lacking, making = problem.expected, problem.culprits, problem.others
    else:
        at, lacking, making = problem.shown, problem.others, problem.culprits
    call = NONE if at is None else words.call(_track(problem, at), at.position)
    values = {
        "call": call,
        "ranks": listed(lacking),
        "others": listed(making),
        "count": str(abs(problem.left_out)),
        "group": quote_text(problem.group.label),
    }
    return Observation(id=CALL_LEFT_OUT, source="probe", values=values)


def _not_started(problem: Problem, words: CallWords) -> Observation:
    quiet = [int(rank) for rank in problem.detail["not_started"].split(",")]
    at = problem.expected
    values = {
        "ranks": listed(quiet),
        "others": listed(set(problem.culprits) - set(quiet)) or NONE,
        "call": NONE if at is None else words.call(_track(problem, at), at.position),
        "group": quote_text(problem.group.label),
    }
    quotes = () if at is None else (words.quote(_track(problem, at), at.position, at.rank),)
    return Observation(id=NOT_STARTED, source="probe", values=values, quotes=quotes)
