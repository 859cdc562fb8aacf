"""How sure a session is of the cause, and what would make it surer, in one sentence each."""

from __future__ import annotations

from distkb.diagnosis.moves import Ask, Done, Move, NothingFits, Take
from distkb.diagnosis.view import SessionView
from distkb.locale import Say
from distkb.report.meaning import Meanings
from distkb.report.measure import answer, entry_total, percent


def certainty(view: SessionView, say: Say, move: Move | None = None, meanings: Meanings | None = None) -> str:
    """Return how sure it is, and what would make it surer: the move that is shown, else the best one.

    With `meanings`, an error of which no entry speaks is called that, and no cause is said to come first.
    """
    diagnosis = view.diagnosis
    first = diagnosis.causes[0] if diagnosis.causes else None
    if first is None:
        return ""
    total = percent(entry_total(diagnosis, first.entry.id))
    name = answer(diagnosis)
    if name == "unknown" and meanings is not None and meanings.leaves_unexplained(diagnosis.evidence.observations):
        return f"{say('verdict.unexplained')} {surer(move or view.next, say)}"
    return f"{say(f'session.sure.{name}', id=first.entry.id, percent=total)} {surer(move or view.next, say)}"


def surer(move: Move, say: Say) -> str:
    """Return what would make it surer: the move that is proposed."""
    match move:
        case Ask():
            name = "ask"
        case Take(step=step):
            name = step.kind
        case Done():
            name = "done"
        case NothingFits():
            name = "nothing-fits"
        case _:
            name = "fix"
    return say(f"session.surer.{name}")
