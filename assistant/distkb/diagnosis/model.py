"""The answer: causes ranked by probability, each with the observations that moved it."""

from __future__ import annotations

from typing import Literal

import msgspec

from distkb.catalogue.model import Cause, Entry, Fix, Step
from distkb.evidence.observation import Evidence, Observation


class Contribution(msgspec.Struct, frozen=True, kw_only=True):
    """How far one observation moved one cause."""

    observation: Observation
    weight: float
    """Natural-log ratio of P(observation | cause) to P(observation | any other cause). Negative speaks against it."""


class RankedCause(msgspec.Struct, frozen=True, kw_only=True):
    """One cause with its posterior probability."""

    entry: Entry
    cause: Cause
    probability: float
    evidence: tuple[Contribution, ...]
    """Strongest first, those against it included."""


class NextStep(msgspec.Struct, frozen=True, kw_only=True):
    """What to ask, collect or probe next, or that the fix is worth trying now."""

    kind: Literal["ask", "collect", "probe", "fix"]
    step: Step | None
    """None where the kind is `fix`."""
    fix: Fix | None = None
    """The fix to try, where the kind is `fix`."""
    gain_bits: float
    """Expected reduction of the entropy over causes, in bits; 0 where the kind is `fix`."""


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """The whole answer."""

    causes: tuple[RankedCause, ...]
    """All causes, most probable first."""
    other: float
    """Posterior probability that the cause is none of the catalogue's."""
    verdict: Literal["named", "leading", "undecided", "unknown", "no-evidence"]
    """`named`: act on the first cause. `leading`: probable, check what speaks against it.
    `undecided`: the evidence does not tell the first few apart. `unknown`: nothing fits.
    `no-evidence`: nothing that was read says that something went wrong."""
    next: NextStep | None
    fix: Fix | None
    """The first fix of the first cause, where the verdict names or leads."""
    evidence: Evidence
    remedy: Observation | None = None
    """The finding behind the first cause that says itself what to change, and where."""
    collect: Step | None = None
    """What to collect, where the next step is a question that not everybody can answer at once."""
