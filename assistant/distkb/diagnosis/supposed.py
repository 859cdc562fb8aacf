"""What was read under a supposition, such as that a run whose output just ends hangs: when it counts, and how much."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from distkb.evidence.observation import Evidence, Observation

SUPPOSED = 0.6
"""How far to trust what says something of a run only if it hangs, while nobody has said whether it does."""


def settled(evidence: Evidence, tells: Callable[[Observation], bool]) -> Evidence:
    """Return the evidence in which suppositions that are known to hold or not to hold are none any more.

    `tells`: whether an observation says that something went wrong. Where one does that rests on no supposition, a
    supposition of which nothing is known is dropped: the run failed in the way that is told.
    """
    if not any(one.supposes for one in evidence.observations):
        return evidence
    sure = [one for one in evidence.observations if not one.supposes]
    facts = {one.id for one in sure if "=" in one.id and one.present}
    names = {fact.partition("=")[0] for fact in facts}
    troubled = bool(evidence.affinity) or any(tells(one) for one in sure)
    found: list[Observation] = []
    for one in evidence.observations:
        if not one.supposes:
            found.append(one)
        elif one.supposes in facts:
            found.append(msgspec.structs.replace(one, supposes=""))
        elif one.supposes.partition("=")[0] not in names and not troubled:
            found.append(msgspec.structs.replace(one, certainty=SUPPOSED * one.certainty))
    return msgspec.structs.replace(evidence, observations=tuple(found))


def open_questions(evidence: Evidence) -> frozenset[str]:
    """Return the facts on which suppositions rest."""
    return frozenset(one.supposes.partition("=")[0] for one in evidence.observations if one.supposes)
