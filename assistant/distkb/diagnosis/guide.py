"""What choosing the next step needs of a catalogue, computed once: rows, questions and lookups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import msgspec

from distkb.catalogue.model import Catalogue, Cause, Entry, Fact, Fix, Signature, Step
from distkb.diagnosis.belief import Belief, believe
from distkb.diagnosis.information import MISREAD, MISTAKE, OutcomeRow, make_row
from distkb.diagnosis.known import Known, gather
from distkb.diagnosis.likelihood import LikelihoodTable
from distkb.diagnosis.presumed import OUTPUT
from distkb.diagnosis.session import Event
from distkb.diagnosis.supposed import settled

ROWS_KEPT = 8192
"""Rows that are remembered: lines are offered in ever new sets."""

CLEAR_BACKGROUND = 0.03
"""A line that comes more often than this with other causes names no failure."""

REMEMBERED = 512
"""Beliefs that are remembered: more than one long session has."""


class Guide:
    """A catalogue prepared for sessions. Make one and keep it; nothing in it changes what a session means."""

    def __init__(self, catalogue: Catalogue, table: LikelihoodTable | None = None) -> None:
        self.catalogue = catalogue
        self.table = table or LikelihoodTable(
            catalogue.entries, catalogue.signatures, catalogue.findings, catalogue.facts
        )
        self.facts: dict[str, Fact] = {fact.id: fact for fact in catalogue.facts}
        self.signatures: dict[str, Signature] = {s.id: s for s in catalogue.signatures}
        self.steps: dict[str, Step] = {step.id: step for step in catalogue.steps if step.kind != "ask"}
        self.numbers: dict[str, int] = {h.id: i for i, h in enumerate(self.table.hypotheses)}
        self.fixes: dict[str, tuple[Entry, Cause, Fix]] = {
            fix.id: (entry, cause, fix) for entry in catalogue.entries for cause in entry.causes for fix in cause.fixes
        }
        self.implies: dict[str, tuple[str, ...]] = {s.id: s.implies for s in catalogue.signatures if s.implies}
        self.implies |= {f.id: f.implies for f in catalogue.findings if f.implies}
        self._rows: dict[tuple[tuple[str, ...], float, tuple[str, ...]], OutcomeRow] = {}
        self._beliefs: dict[tuple[int, ...], tuple[tuple[Event, ...], Belief]] = {}

    def fact_row(self, fact: str, values: tuple[str, ...]) -> OutcomeRow:
        """Return the row of a fact's question that offers these values, answered by a person."""
        return self.row((fact,), MISTAKE, values)

    def plain_row(self, fact: str) -> OutcomeRow:
        """Return the row of a fact itself, whoever says it."""
        return self.row((fact,), 0.0)

    def step_row(self, reveals: tuple[str, ...]) -> OutcomeRow:
        """Return the row of a probe or of something to collect."""
        return self.row(reveals, MISREAD)

    def row(self, reveals: tuple[str, ...], mistake: float, values: tuple[str, ...] = ()) -> OutcomeRow:
        """Return the row of anything that reveals these (`make_row`); computed once."""
        key = (reveals, mistake, values)
        found = self._rows.get(key)
        if found is None:
            if len(self._rows) >= ROWS_KEPT:
                self._rows.clear()
            found = self._rows[key] = make_row(self.table, reveals, mistake, values)
        return found

    @cached_property
    def lines(self) -> tuple[Signature, ...]:
        """Signatures that a person can look for in the output: with an example, and named by some cause."""
        stated = {e.observation for entry in self.catalogue.entries for c in entry.causes for e in c.cues}
        return tuple(
            s
            for s in self.catalogue.signatures
            if s.example is not None and "log" in s.where and s.printed_by != "system" and s.id in stated
        )

    @cached_property
    def named_lines(self) -> frozenset[str]:
        """Ids of those signatures."""
        return frozenset(s.id for s in self.lines)

    def reveals(self, step: Step) -> tuple[str, ...]:
        """Return the observations that a step would show; of the run's output the lines that name a failure.

        Echoes come with whichever failure it is: beside the failure itself they tell nothing more.
        """
        return self._failures if step.id == OUTPUT else step.reveals

    @cached_property
    def _failures(self) -> tuple[str, ...]:
        kinds = self.table.kinds
        return tuple(s.id for s in self.lines if s.role == "primary" and kinds[s.id].background <= CLEAR_BACKGROUND)

    def belief(self, posterior: Mapping[str, float]) -> list[float]:
        """Return a posterior as numbers in the order of the table's hypotheses."""
        return [posterior[h.id] for h in self.table.hypotheses]

    def known(self, events: Sequence[Event]) -> Known:
        """Return what these standing events amount to."""
        found = gather(events, self.implies)
        return msgspec.structs.replace(found, evidence=settled(found.evidence, self.table.tells))

    def belief_after(self, events: tuple[Event, ...]) -> Belief:
        """Return the belief after these standing events; events are immutable, so it is remembered."""
        key = tuple(id(event) for event in events)
        found = self._beliefs.get(key)
        if found is None:
            if len(self._beliefs) >= REMEMBERED:
                self._beliefs.clear()
            # The events are kept with the belief, so that no other event gets their identity.
            found = self._beliefs[key] = (events, believe(self.table, self.known(events).evidence))
        return found[1]
