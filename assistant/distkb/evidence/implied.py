"""Facts that the logs answer by themselves, so that nobody is asked for what was already shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from distkb.evidence.observation import Observation

CERTAINTY = 0.3
"""An implied fact adds little: the line that implies it has already counted as evidence of its own."""


CONCLUDED = 0.9
"""A fact that the model of the run concludes is nearly as sure as one that the user states."""


def concluded_facts(
    observations: Sequence[Observation],
    concludes: Mapping[str, Iterable[str]],
    printed: Mapping[str, Iterable[str]] | None = None,
) -> list[Observation]:
    """The facts that findings establish, for every fact that is not known yet; none where findings contradict.

    What a message implies (`printed`) in the line that a finding is about is the more exact: that a rank ran out of
    memory, and not just that it crashed.
    """
    known = {o.id.partition("=")[0] for o in observations if "=" in o.id and o.certainty > CERTAINTY}
    said = _by_line(observations, printed or {})
    found: dict[str, dict[str, Observation]] = {}
    for observation in observations:
        for fact in concludes.get(observation.id, ()) if observation.present else ():
            name = fact.partition("=")[0]
            exact = said.get((*_line(observation), name), fact)
            if name not in known:
                certainty = CONCLUDED * observation.certainty
                one = Observation(id=exact, source="log", certainty=certainty, quotes=observation.quotes[:1])
                found.setdefault(name, {}).setdefault(exact, one)
    return [one for values in found.values() if len(values) == 1 for one in values.values()]


def _line(observation: Observation) -> tuple[str | None, int | None]:
    """Where the first of its quotes stands."""
    first = observation.quotes[0] if observation.quotes else None
    return (first.path, first.line) if first is not None else (None, None)


def _by_line(
    observations: Sequence[Observation], implies: Mapping[str, Iterable[str]]
) -> dict[tuple[str | None, int | None, str], str]:
    """File, line and name of a fact → what a message in that line implies of it."""
    return {
        (quote.path, quote.line, fact.partition("=")[0]): fact
        for observation in observations
        if observation.source == "log" and observation.present
        for fact in implies.get(observation.id, ())
        for quote in observation.quotes
        if quote.line is not None
    }


def implied_facts(observations: Sequence[Observation], implies: Mapping[str, Iterable[str]]) -> list[Observation]:
    """The facts that observations of the logs imply, for every fact that is not known yet.

    `implies` maps the id of a signature or finding to facts as `fact=value`. Where observations imply different
    values of one fact, none is taken.
    """
    known = {o.id.partition("=")[0] for o in observations if "=" in o.id}
    said: dict[str, dict[str, Observation]] = {}
    for observation in observations:
        if observation.source != "log" or not observation.present:
            continue
        for fact in implies.get(observation.id, ()):
            name = fact.partition("=")[0]
            if name not in known:
                said.setdefault(name, {}).setdefault(fact, observation)
    return [
        Observation(id=fact, source="log", certainty=CERTAINTY, quotes=shown.quotes[:1])
        for values in said.values()
        if len(values) == 1
        for fact, shown in values.items()
    ]
