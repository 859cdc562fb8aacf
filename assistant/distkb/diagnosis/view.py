"""What a screen shows of a session, computed from its events: a pure function of the session and the knowledge."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from distkb.catalogue.model import PROBABILITY
from distkb.diagnosis.belief import Belief, entry_totals
from distkb.diagnosis.conclude import conclude
from distkb.diagnosis.guide import Guide
from distkb.diagnosis.information import entropy_bits
from distkb.diagnosis.known import Known, shown_by
from distkb.diagnosis.likelihood import OTHER
from distkb.diagnosis.model import Diagnosis
from distkb.diagnosis.moves import Done, Move, TryFix
from distkb.diagnosis.propose import propose
from distkb.diagnosis.repair import seconds_of
from distkb.diagnosis.session import (
    Answered,
    DontKnow,
    Event,
    Redone,
    Session,
    Undone,
    Withdrawn,
    can_redo,
    can_undo,
    standing,
)
from distkb.evidence.observation import Observation


class RankedView(msgspec.Struct, frozen=True, kw_only=True):
    """An entry or a cause with its probability now and before the latest event that still counts."""

    id: str
    probability: float
    before: float

    @property
    def delta(self) -> float:
        """How far the latest event moved it, from -1 to 1."""
        return self.probability - self.before


class Shift(msgspec.Struct, frozen=True, kw_only=True):
    """How one event moved one cause."""

    cause: str
    before: float
    after: float


class TrailItem(msgspec.Struct, frozen=True, kw_only=True):
    """One event of the session with what it did to the belief."""

    number: int
    """Its place in `Session.events`: for `Withdrawn(number=...)`."""
    event: Event
    state: Literal["counts", "replaced"]
    """`replaced`: undone, withdrawn or answered anew."""
    observations: tuple[Observation, ...]
    """What it showed; quotes name where it stands."""
    bits: float
    """How far it moved the belief (relative entropy of the belief after it to the belief before it)."""
    moved: tuple[Shift, ...]
    """The causes that it moved most, largest change first; at most three."""


class SessionProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How far the session has come."""

    answered: int
    unknown: int
    """Questions answered with `don't know`."""
    entropy_bits: float
    """What is still unknown about the cause."""
    share: float
    """From 0 (nothing known) to 1 (the cause is certain): for a progress bar."""


class SessionView(msgspec.Struct, frozen=True, kw_only=True):
    """All that a screen shows."""

    diagnosis: Diagnosis
    """As `distkb diagnose` gives it, causes grouped by entry; its own `next` and `fix` do not know of this session:
    use `next` here."""
    causes: tuple[RankedView, ...]
    """All causes, the most probable first."""
    entries: tuple[RankedView, ...]
    """All entries, the most probable first."""
    other: RankedView
    """None of the catalogue's causes."""
    next: Move
    alternatives: tuple[Move, ...]
    """Further moves that make sense now, best first; at most five."""
    trail: tuple[TrailItem, ...]
    progress: SessionProgress
    can_undo: bool
    can_redo: bool


SHIFTS_SHOWN = 3
"""Causes that a trail item names."""

LEAST_SHIFT = 0.01
"""A change of probability that is worth naming."""


def view(session: Session, guide: Guide) -> SessionView:
    """Return what to show of a session: the same session and catalogue always give the same view."""
    numbers = standing(session.events)
    events = tuple(session.events[n] for n in numbers)
    beliefs = [guide.belief_after(events[:k]) for k in range(len(events) + 1)]
    now = beliefs[-1]
    before = beliefs[-2] if events else now
    known = guide.known(events)
    answer = conclude(guide.table, now, known.evidence)
    moves = next_moves(guide, known, now)
    return SessionView(
        diagnosis=answer,
        causes=_ranked(now.posterior, before.posterior),
        entries=_ranked(entry_totals(now.posterior), entry_totals(before.posterior)),
        other=RankedView(id=OTHER, probability=now.posterior[OTHER], before=before.posterior[OTHER]),
        next=moves[0],
        alternatives=moves[1:],
        trail=_trail(session, numbers, beliefs),
        progress=_progress(events, beliefs),
        can_undo=can_undo(session.events),
        can_redo=can_redo(session.events),
    )


def next_moves(guide: Guide, known: Known, belief: Belief) -> tuple[Move, ...]:
    """Return what to do now, the best move first; the fix of the answer before any other, unless it was tried.

    Of a cause that is named the fix comes before questions too.
    """
    for name, outcome in known.fixes.items():
        if outcome == "helped" and name in guide.fixes:
            entry, cause, fix = guide.fixes[name]
            return (Done(entry=entry, cause=cause, fix=fix), *propose(guide, known, belief.posterior))
    moves = propose(guide, known, belief.posterior)
    answer = conclude(guide.table, belief, known.evidence)
    first = next((place for place, move in enumerate(moves) if isinstance(move, TryFix)), None)
    place = 0 if answer.verdict == "named" else first
    if answer.fix is None or answer.fix.id in known.fixes or place is None:
        return moves
    own = next((move for move in moves if isinstance(move, TryFix) and move.fix.id == answer.fix.id), None)
    if own is None:
        entry, cause, fix = guide.fixes[answer.fix.id]
        chance = belief.posterior[cause.id] * PROBABILITY[fix.works]
        own = TryFix(entry=entry, cause=cause, fix=fix, chance=chance, seconds=seconds_of(fix))
    rest = [move for move in moves if move != own]
    return (*rest[:place], own, *rest[place:])


def _ranked(now: Mapping[str, float], before: Mapping[str, float]) -> tuple[RankedView, ...]:
    names = sorted((name for name in now if name != OTHER), key=lambda name: (-now[name], name))
    return tuple(RankedView(id=name, probability=now[name], before=before[name]) for name in names)


def _trail(session: Session, numbers: Sequence[int], beliefs: Sequence[Belief]) -> tuple[TrailItem, ...]:
    place = {number: k for k, number in enumerate(numbers)}
    items: list[TrailItem] = []
    for number, event in enumerate(session.events):
        if isinstance(event, Undone | Redone | Withdrawn):
            continue
        k = place.get(number)
        before, after = (beliefs[k].posterior, beliefs[k + 1].posterior) if k is not None else ({}, {})
        items.append(
            TrailItem(
                number=number,
                event=event,
                state="replaced" if k is None else "counts",
                observations=shown_by(event),
                bits=_relative_entropy(after, before),
                moved=_moved(before, after),
            )
        )
    return tuple(items)


def _moved(before: Mapping[str, float], after: Mapping[str, float]) -> tuple[Shift, ...]:
    shifts = [Shift(cause=name, before=before[name], after=p) for name, p in after.items()]
    shifts = [s for s in shifts if abs(s.after - s.before) >= LEAST_SHIFT]
    shifts.sort(key=lambda s: (-abs(s.after - s.before), s.cause))
    return tuple(shifts[:SHIFTS_SHOWN])


def _relative_entropy(after: Mapping[str, float], before: Mapping[str, float]) -> float:
    """Return D(after || before) in bits (Kullback and Leibler 1951)."""
    return max(0.0, sum(p * math.log2(p / before[name]) for name, p in after.items() if p > 0.0))


def _progress(events: Sequence[Event], beliefs: Sequence[Belief]) -> SessionProgress:
    start, now = (entropy_bits(b.posterior.values()) for b in (beliefs[0], beliefs[-1]))
    return SessionProgress(
        answered=sum(isinstance(e, Answered) for e in events),
        unknown=sum(isinstance(e, DontKnow) for e in events),
        entropy_bits=now,
        share=min(1.0, max(0.0, 1.0 - now / start)) if start else 1.0,
    )
