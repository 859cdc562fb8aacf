"""What the standing events of a session amount to: one body of evidence, and what is not to be proposed again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from distkb.diagnosis.likelihood import fix_outcome
from distkb.diagnosis.session import (
    Answered,
    DontKnow,
    Event,
    EvidenceAdded,
    FixTried,
    Outcome,
    ProbeResult,
    StepDeclined,
)
from distkb.evidence.implied import CERTAINTY as IMPLIED
from distkb.evidence.observation import Evidence, Observation, Quote, absent

LINE_CERTAINTY = 0.6
"""How far to trust a person who says that a line was printed, or was not: they compare with one example."""


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known at one point of a session."""

    evidence: Evidence
    facts: frozenset[str]
    """Facts that were answered, or of which the person knows nothing."""
    lines: frozenset[str]
    """Signatures that the person was asked about."""
    steps: frozenset[str]
    """Steps that were taken or declined."""
    fixes: dict[str, Outcome]


def shown_by(event: Event) -> tuple[Observation, ...]:
    """Return the observations that one event adds."""
    match event:
        case Answered(question=question, values=values, offered=offered):
            if offered:
                return tuple(_line(name, present=name in values) for name in offered)
            share = 1.0 / max(1, len(values))
            return tuple(_fact(f"{question}={value}", share) for value in values)
        case EvidenceAdded(evidence=evidence):
            return evidence.observations
        case ProbeResult(observations=observations, clear=clear):
            found = {o.id for o in observations}
            return (*observations, *absent(name for name in clear if name not in found))
        case FixTried(fix=fix, outcome=outcome) if outcome != "could-not-try":
            return (Observation(id=fix_outcome(fix), source="answer", present=outcome == "helped"),)
    return ()


def _fact(name: str, certainty: float) -> Observation:
    return Observation(id=name, source="answer", certainty=certainty, quotes=(Quote(text=name),))


def _line(name: str, *, present: bool) -> Observation:
    return Observation(id=name, source="answer", certainty=LINE_CERTAINTY, present=present)


def gather(events: Sequence[Event], implies: Mapping[str, Iterable[str]]) -> Known:
    """Return what these standing events amount to.

    `implies` maps the id of a signature or finding to facts as `fact=value`.
    """
    answered = {e.question for e in events if isinstance(e, Answered) and not e.offered}
    unknown = {e.question for e in events if isinstance(e, DontKnow) and not e.offered}
    asked = [e for e in events if isinstance(e, Answered | DontKnow)]
    return Known(
        evidence=_evidence(events, answered, implies),
        facts=frozenset(answered | unknown),
        lines=frozenset(name for e in asked for name in e.offered),
        steps=frozenset(_steps(events)),
        fixes={e.fix: e.outcome for e in events if isinstance(e, FixTried)},
    )


def _steps(events: Iterable[Event]) -> Iterable[str]:
    for event in events:
        step = event.step if isinstance(event, ProbeResult | StepDeclined | EvidenceAdded) else None
        if step is not None:
            yield step


def _evidence(events: Sequence[Event], answered: set[str], implies: Mapping[str, Iterable[str]]) -> Evidence:
    read = [event.evidence for event in events if isinstance(event, EvidenceAdded)]
    best: dict[str, Observation] = {}
    disowned = {event.question: place for place, event in enumerate(events) if isinstance(event, DontKnow)}
    for place, event in enumerate(events):
        for observation in shown_by(event):
            inferred = "=" in observation.id and observation.source not in ("answer", "fact")
            fact = observation.id.partition("=")[0]
            if inferred and (fact in answered or disowned.get(fact, -1) > place):
                continue  # what the person says of the run counts more than what was guessed from words or lines
            held = best.get(observation.id)
            if held is None or _rank(observation) >= _rank(held):
                best[observation.id] = observation
    observations = (*best.values(), *_implied(best.values(), implies))
    errors = [e.unexplained for e in read if e.affinity]
    return Evidence(
        observations=observations,
        skipped=tuple(s for e in read for s in e.skipped),
        log_coverage=max((e.log_coverage for e in read), default=0.0),
        affinity=_mean([e.affinity for e in read if e.affinity]),
        likeness=_mean([e.likeness for e in read if e.likeness]),
        lacking=_lacking([e.lacking for e in read if e.lacking is not None]),
        alike={cause: quote for e in read for cause, quote in e.alike.items()},
        unexplained=errors[0] if errors and all(errors) else None,
        notes=tuple(note for e in read for note in e.notes),
        ranks=max((e.ranks for e in read), key=len, default=()),
        runs=max((e.runs for e in read), key=len, default=()),
        bytes_read=sum(e.bytes_read for e in read),
        closeup=next((e.closeup for e in reversed(read) if e.closeup is not None), None),
    )


def _lacking(read: Sequence[tuple[str, ...]]) -> tuple[str, ...] | None:
    """Return the causes that all readings of code leave without what they take."""
    return tuple(sorted(set(read[0]).intersection(*read[1:]))) if read else None


def _rank(observation: Observation) -> tuple[bool, bool, bool, float]:
    """Of two observations of one thing: seeing it, then no supposition, then a quoted line, then the surer one."""
    return (observation.present, not observation.supposes, bool(observation.quotes), observation.certainty)


def _implied(observations: Iterable[Observation], implies: Mapping[str, Iterable[str]]) -> list[Observation]:
    """Return the facts that answers and probes imply; readers have already added those of the logs."""
    observations = tuple(observations)
    known_facts = {o.id.partition("=")[0] for o in observations if "=" in o.id}
    said: dict[str, set[str]] = {}
    for observation in observations:
        if observation.present and observation.source in ("answer", "probe"):
            for fact in implies.get(observation.id, ()):
                said.setdefault(fact.partition("=")[0], set()).add(fact)
    return [
        Observation(id=value, source="probe", certainty=IMPLIED)
        for name, values in sorted(said.items())
        if len(values) == 1 and name not in known_facts
        for value in values
    ]


def _mean(affinities: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean of several descriptions' affinities: telling it twice makes nothing surer."""
    names = sorted({name for affinity in affinities for name in affinity})
    return {name: sum(a.get(name, 0.0) for a in affinities) / len(affinities) for name in names}
