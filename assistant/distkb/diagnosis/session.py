"""The session: what was read, answered, probed and tried, in order, and nothing else.

A session is a list of events. Everything shown is computed from it (`distkb.diagnosis.view`), so an answer can be
changed, taken back or replayed at any time. No clock, no I/O; every type encodes to JSON with msgspec.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from distkb.evidence.observation import Evidence, Observation

Outcome = Literal["helped", "did-not-help", "could-not-try"]


class Answered(msgspec.Struct, frozen=True, kw_only=True, tag="answered"):
    """An answer to a question. A later answer to the same question replaces it."""

    question: str
    """`Question.id`."""
    values: tuple[str, ...]
    """The chosen options; none of them where the question offers lines and none of those was printed."""
    offered: tuple[str, ...] = ()
    """For a question about lines: the signatures that were offered; what is not in `values` was not printed."""


class DontKnow(msgspec.Struct, frozen=True, kw_only=True, tag="dont-know"):
    """The person does not know. The question is not asked again and nothing is concluded."""

    question: str
    offered: tuple[str, ...] = ()


class ProbeResult(msgspec.Struct, frozen=True, kw_only=True, tag="probe-result"):
    """A probe ran, or what a step asked to collect was looked at."""

    step: str
    """`Step.id`, or the probe's name where the person started it unasked."""
    observations: tuple[Observation, ...] = ()
    clear: tuple[str, ...] = ()
    """Ids of findings that were looked for and are absent."""
    status: Literal["ok", "skipped", "error", "cancelled"] = "ok"
    """Whatever the status, the step is not proposed again."""


class StepDeclined(msgspec.Struct, frozen=True, kw_only=True, tag="step-declined"):
    """The person cannot or will not take this step; it is not proposed again."""

    step: str


class EvidenceAdded(msgspec.Struct, frozen=True, kw_only=True, tag="evidence-added"):
    """Files, folders or words were read. Later evidence of the same label replaces it."""

    label: str
    """What was read, as the person would name it: a path, or `description` for their own words."""
    evidence: Evidence
    paths: tuple[str, ...] = ()
    step: str | None = None
    """The collect step that this evidence answers."""


class FixTried(msgspec.Struct, frozen=True, kw_only=True, tag="fix-tried"):
    """Did it help? Helped, did not help, or could not be tried."""

    fix: str
    outcome: Outcome


class Withdrawn(msgspec.Struct, frozen=True, kw_only=True, tag="withdrawn"):
    """One earlier event is taken back, whichever it is."""

    number: int
    """Its place in `Session.events`, from 0."""


class Undone(msgspec.Struct, frozen=True, tag="undone"):
    """The latest event that still stands is taken back."""


class Redone(msgspec.Struct, frozen=True, tag="redone"):
    """The latest undo is taken back; nothing where something else happened since."""


Event = Answered | DontKnow | ProbeResult | StepDeclined | EvidenceAdded | FixTried | Withdrawn | Undone | Redone


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """One diagnosis from its first word to the fix that worked: an immutable list of events."""

    id: str
    started: str = ""
    """When it began, as the caller names it (ISO 8601); never computed here."""
    title: str = ""
    """What it is about, for the list of sessions: the first words or the first path."""
    events: tuple[Event, ...] = ()

    def apply(self, event: Event) -> Session:
        """Return the session after one more event."""
        return msgspec.structs.replace(self, events=(*self.events, event))


def can_undo(events: tuple[Event, ...]) -> bool:
    """Whether there is an event that `Undone` would take back."""
    return bool(_stacks(events)[0])


def can_redo(events: tuple[Event, ...]) -> bool:
    """Whether there is an undo that `Redone` would take back."""
    return bool(_stacks(events)[1])


def standing(events: tuple[Event, ...]) -> tuple[int, ...]:
    """Return the numbers of the events that still count: not undone, not withdrawn and not replaced, in order."""
    stack, _ = _stacks(events)
    withdrawn: set[int] = set()
    for number in reversed(stack):
        event = events[number]
        if isinstance(event, Withdrawn) and number not in withdrawn:
            withdrawn.add(event.number)
    kept = [n for n in stack if n not in withdrawn and not isinstance(events[n], Withdrawn)]
    latest = {_subject(events[number]): number for number in kept}
    return tuple(number for number in kept if latest[_subject(events[number])] == number)


def _stacks(events: tuple[Event, ...]) -> tuple[list[int], list[int]]:
    """Return the numbers of the events that are not undone, and of those that can be redone, the latest last."""
    stack: list[int] = []
    undone: list[int] = []
    for number, event in enumerate(events):
        if isinstance(event, Undone):
            if stack:
                undone.append(stack.pop())
        elif isinstance(event, Redone):
            if undone:
                stack.append(undone.pop())
        else:
            stack.append(number)
            undone.clear()
    return stack, undone


def _subject(event: Event) -> tuple[str, ...]:
    """What an event is about: of several events about the same thing the last one counts."""
    match event:
        case Answered() | DontKnow():
            return ("question", event.question, *event.offered)
        case EvidenceAdded():
            return ("evidence", event.label)
        case FixTried():
            return ("fix", event.fix)
        case ProbeResult() | StepDeclined():
            return ("step", event.step)
    return ()
