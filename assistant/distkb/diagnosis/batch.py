"""A diagnosis of what was given at once: a session with one event, so that every face gives one answer."""

from __future__ import annotations

import msgspec

from distkb.catalogue.model import Step
from distkb.diagnosis.guide import Guide
from distkb.diagnosis.model import Diagnosis, NextStep
from distkb.diagnosis.moves import Ask, Move, Take, TryFix
from distkb.diagnosis.presumed import OUTPUT
from distkb.diagnosis.questions import ask_step
from distkb.diagnosis.session import EvidenceAdded, Session
from distkb.diagnosis.view import SessionView, view
from distkb.evidence.observation import Evidence


def diagnose(guide: Guide, evidence: Evidence) -> Diagnosis:
    """Return the answer for the evidence: causes, verdict, fix and next step as a session on it would show them.

    What cannot be answered where nobody sits at the screen is shown with what could be collected instead.
    """
    return with_next(guide, view(Session(id="", events=(EvidenceAdded(label="", evidence=evidence),)), guide))


def with_next(guide: Guide, shown: SessionView) -> Diagnosis:
    """Return the answer of a session with its next step, and with what could be collected instead of asking."""
    return msgspec.structs.replace(
        shown.diagnosis, next=_step(guide, shown.next), collect=_collect((shown.next, *shown.alternatives))
    )


def _step(guide: Guide, move: Move) -> NextStep | None:
    match move:
        case Ask(question=question, gain_bits=gain):
            # A question about lines of the output is answered by giving the output.
            step = ask_step(question) if question.kind == "fact" else guide.steps.get(OUTPUT)
            return None if step is None else NextStep(kind=step.kind, step=step, gain_bits=gain)
        case Take(step=step, gain_bits=gain):
            return NextStep(kind=step.kind, step=step, gain_bits=gain)
        case TryFix(fix=fix):
            return NextStep(kind="fix", step=None, fix=fix, gain_bits=0.0)
    return None


def _collect(moves: tuple[Move, ...]) -> Step | None:
    first, *others = moves
    if not isinstance(first, Ask):
        return None
    return next((move.step for move in others if isinstance(move, Take) and move.step.kind == "collect"), None)
