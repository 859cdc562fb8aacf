"""What a session can propose: ask, run or collect, try a fix, be done, or give up and report."""

from __future__ import annotations

import msgspec

from distkb.catalogue.model import Cause, Entry, Fix, Step
from distkb.diagnosis.questions import Question


class Ask(msgspec.Struct, frozen=True, kw_only=True, tag="ask"):
    """Ask the person."""

    question: Question
    gain_bits: float
    """Expected information about the cause."""
    seconds: float


class Take(msgspec.Struct, frozen=True, kw_only=True, tag="take"):
    """Run a probe, or have something collected; `step.kind` says which."""

    step: Step
    gain_bits: float
    seconds: float


class TryFix(msgspec.Struct, frozen=True, kw_only=True, tag="try-fix"):
    """Try a fix: it is the better move than asking on."""

    entry: Entry
    cause: Cause
    fix: Fix
    chance: float
    """Probability that it helps: of the cause, times the chance that the fix works for it."""
    seconds: float
    """What trying it costs, estimated."""


class Done(msgspec.Struct, frozen=True, kw_only=True, tag="done"):
    """A fix helped."""

    entry: Entry
    cause: Cause
    fix: Fix


class NothingFits(msgspec.Struct, frozen=True, kw_only=True, tag="nothing-fits"):
    """Nothing of the catalogue fits, or everything that could be tried was: write a report and file it upstream."""


Move = Ask | Take | TryFix | Done | NothingFits
