"""Facts that the logs answer by themselves, so that nobody is asked for what was already shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from distkb.evidence.observation import Observation

CERTAINTY = 0.3
"""An implied fact adds little: the line that implies it has already counted as evidence of its own."""


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
