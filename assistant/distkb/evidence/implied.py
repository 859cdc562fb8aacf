"""Facts that the logs answer by themselves, so that nobody is asked for what was already shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from distkb.evidence.observation import Observation

CERTAINTY = 0.3
"""An implied fact adds little: the line that implies it has already counted as evidence of its own."""


CONCLUDED = 0.9
"""A fact that the model of the run concludes is nearly as sure as one that the user states."""


def concluded_facts(observations: Sequence[Observation], concludes: Mapping[str, Iterable[str]]) -> list[Observation]:
    """The facts that findings establish, for every fact that is not known yet; none where findings contradict."""
    known = {o.id.partition("=")[0] for o in observations if "=" in o.id and o.certainty > CERTAINTY}
    found: dict[str, dict[str, Observation]] = {}
    for observation in observations:
        for fact in concludes.get(observation.id, ()) if observation.present else ():
            name = fact.partition("=")[0]
            if name not in known:
                certainty = CONCLUDED * observation.certainty
                one = Observation(id=fact, source="log", certainty=certainty, quotes=observation.quotes[:1])
                found.setdefault(name, {}).setdefault(fact, one)
    return [one for values in found.values() if len(values) == 1 for one in values.values()]


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
