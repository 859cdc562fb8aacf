"""The next move of a session: ask, probe, collect, try the fix, or say that nothing fits.

Questions and steps are ranked by expected information per effort; the best one is taken while it lowers the expected
cost of repair by more than it costs, and else the fix is the better move. Both are one-step look-aheads, as in
Heckerman, Breese and Rommelse (1995).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter, mul, sub

import msgspec

from distkb.catalogue.model import Step
from distkb.diagnosis.guide import Guide
from distkb.diagnosis.information import MISTAKE, OutcomeRow
from distkb.diagnosis.known import Known
from distkb.diagnosis.likelihood import OTHER
from distkb.diagnosis.moves import Ask, Move, NothingFits, Take, TryFix
from distkb.diagnosis.presumed import OUTPUT, known_names, presumed
from distkb.diagnosis.questions import Question, fact_question, lines_question
from distkb.diagnosis.repair import CONSIDERED, Repair, expected_cost
from distkb.diagnosis.repair import plan as repair_plan
from distkb.diagnosis.supposed import open_questions

LEAST_GAIN_BITS = 0.2
"""What is expected to tell less than this is not worth a person's time."""

ATTENTION = 450.0
"""Seconds that any question costs besides answering it: reading it, and the patience of whoever is asked."""

SHORTLIST = 8
"""So many of the most informative steps are compared by what they save."""

LINES_OFFERED = 7
"""Lines in one question: what number keys can choose."""

LINES_COMPARED = 18
"""So many of the most informative lines are chosen from."""

LEAST_SPOKEN = 0.01
"""A line that speaks for less of the belief than this is not offered."""

LOST = 0.8
"""Where none of the catalogue is at least this likely, nothing fits."""

ORDERED = 8
"""A question has to be able to change the order of so many of the most probable causes."""

OUTCOMES_PLANNED = 12
"""Of a step with more outcomes than this the rare ones are planned for together."""

REVEALS_COMPARED = 60
"""Of a step that shows more than this only the most informative observations are compared."""

LEAST_CHANCE = 0.015
"""A fix that helps less often than this is not proposed."""

ALTERNATIVES = 5


class OpenStep(msgspec.Struct, frozen=True):
    """A question or step that is open, with what it would tell."""

    move: Ask | Take
    row: OutcomeRow
    rate: float
    """Bits per effort; effort grows with the square root of time."""


def propose(guide: Guide, known: Known, posterior: Mapping[str, float]) -> tuple[Move, ...]:
    """Return the moves that make sense now, the best one first; the last resort is `NothingFits`."""
    belief = guide.belief(posterior)
    plan = repair_plan(guide.table, belief, known.fixes)
    useful, saving = worthwhile(candidates(guide, known, posterior), plan, belief)
    rests = open_questions(known.evidence)
    asking = [c.move for c in (*saving, *(c for c in useful if c not in saving))]
    asking.sort(key=lambda move: not (isinstance(move, Ask) and move.question.id in rests))
    fixes = _fixes(guide, plan, belief)
    lost = posterior[OTHER] >= LOST
    if saving or not fixes:
        moves: list[Move] = [*asking[: ALTERNATIVES - 1], *fixes[:2], *asking[ALTERNATIVES - 1 :]]
    else:
        moves = [*fixes[:2], *asking, *fixes[2:]]
    if lost and not saving:
        moves.insert(0, NothingFits())
    return tuple(moves[: ALTERNATIVES + 1]) or (NothingFits(),)


def worthwhile(
    offered: Iterable[OpenStep], plan: Sequence[Repair], belief: Sequence[float]
) -> tuple[list[OpenStep], list[OpenStep]]:
    """Return the most informative candidates that could change an order, best first, and of them those that pay.

    A step pays where it lowers the expected cost of repair by more than it costs itself.
    """
    ranked = sorted(offered, key=lambda c: (-c.rate, _name(c.move)))
    useful = [c for c in ranked[:SHORTLIST] if can_change_order(c.row, belief)]
    now = expected_cost(plan, [belief[r.hypothesis] for r in plan], 1.0)
    return useful, [c for c in useful if now - _cost_after(c, plan, belief) > 0.0]


def candidates(guide: Guide, known: Known, posterior: Mapping[str, float]) -> Iterator[OpenStep]:
    """Yield every open question and step that is expected to tell enough."""
    belief = guide.belief(posterior)
    seen = known_names(o.id for o in known.evidence.observations if not o.supposes)
    yield from questions(guide, known, posterior)
    for step in guide.steps.values():
        still_open = _open(guide, step, known, seen, belief)
        if not still_open:
            continue
        row = guide.step_row(still_open)
        gain = row.gain_bits(belief)
        if gain >= LEAST_GAIN_BITS:
            move = Take(step=step, gain_bits=gain, seconds=step.seconds)
            yield OpenStep(move, row, gain / math.sqrt(step.seconds + ATTENTION))


def questions(guide: Guide, known: Known, posterior: Mapping[str, float]) -> Iterator[OpenStep]:
    """Yield every open question to a person that is expected to tell enough."""
    belief = guide.belief(posterior)
    observed = frozenset(o.id for o in known.evidence.observations if o.present and not o.supposes)
    seen = known_names(o.id for o in known.evidence.observations if not o.supposes)
    held = observed | {
        kind.group for key in observed if (kind := guide.table.kinds.get(key)) is not None and kind.group
    }
    excluded = guide.table.excluded(observed)
    for name, fact in guide.facts.items():
        if name in known.facts or name in seen or not held.isdisjoint(fact.answered_by):
            continue
        left = tuple(v.value for v in fact.values if f"{name}={v.value}" not in excluded)
        if len(left) > 1 and presumed(guide.table, posterior, fact.when, observed, excluded, guide.plain_row):
            yield from _asked(fact_question(fact, left), guide.fact_row(name, left), belief)
    offered = _lines(guide, known, seen, belief)
    if offered:
        row = guide.row(offered, MISTAKE)
        yield from _asked(lines_question(guide.signatures[name] for name in offered), row, belief)


def _told(guide: Guide, line: str, belief: Sequence[float]) -> float:
    """Return the expected information of a line that a person can look for, in bits; none of anything else."""
    return guide.row((line,), MISTAKE).gain_bits(belief) if line in guide.named_lines else 0.0


def _open(guide: Guide, step: Step, known: Known, seen: frozenset[str], belief: Sequence[float]) -> tuple[str, ...]:
    """Return what a step would still show; nothing where it was taken or shows hardly anything new."""
    if step.id in known.steps or (step.id == OUTPUT and known.evidence.log_coverage > 0.0):
        return ()
    reveals = guide.reveals(step)
    still_open = tuple(key for key in reveals if key not in seen)
    if len(still_open) < len(reveals) / 2:
        return ()
    if len(still_open) <= REVEALS_COMPARED:
        return still_open
    return tuple(sorted(sorted(still_open, key=lambda key: (-_told(guide, key, belief), key))[:REVEALS_COMPARED]))


def _asked(question: Question, row: OutcomeRow, belief: Sequence[float]) -> Iterator[OpenStep]:
    gain = row.gain_bits(belief)
    if gain >= LEAST_GAIN_BITS:
        move = Ask(question=question, gain_bits=gain, seconds=question.seconds)
        yield OpenStep(move, row, gain / math.sqrt(question.seconds + ATTENTION))


def _name(move: Ask | Take) -> str:
    return move.question.id if isinstance(move, Ask) else move.step.id


def _lines(guide: Guide, known: Known, names: frozenset[str], belief: Sequence[float]) -> tuple[str, ...]:
    """Return the lines to offer together: each tells much, and they tell different things; `names` were seen."""
    if known.evidence.log_coverage >= 0.5:
        return ()  # the output was read: what it holds is known better than anybody could say
    seen = {guide.signatures[o.id].group for o in known.evidence.observations if o.id in guide.signatures} - {None}
    scored = sorted(
        (-gain, name)
        for name in guide.named_lines - names - known.lines
        if guide.signatures[name].group not in seen and (gain := _told(guide, name, belief)) >= LEAST_GAIN_BITS / 4
    )
    return _spread(guide, [name for _, name in scored[:LINES_COMPARED]], belief)


def _spread(guide: Guide, names: Sequence[str], belief: Sequence[float]) -> tuple[str, ...]:
    """Choose lines one by one, each time the one that speaks for the most belief not spoken for yet."""
    chosen: list[str] = []
    groups: set[str] = set()
    left = list(belief)
    while len(chosen) < LINES_OFFERED:
        open_names = [n for n in names if n not in chosen and guide.signatures[n].group not in groups]
        spoken, name = max(((_spoken_for(guide, n, left), n) for n in open_names), default=(0.0, ""))
        if spoken <= LEAST_SPOKEN:
            break
        chosen.append(name)
        group = guide.signatures[name].group
        groups |= {group} if group is not None else set()
        row = guide.row((name,), MISTAKE)
        for place, number in enumerate(row.who):
            left[number] *= 1.0 - max(0.0, row.base[0] + row.shifts[0][place])
    return tuple(chosen)


def _spoken_for(guide: Guide, name: str, belief: Sequence[float]) -> float:
    row = guide.row((name,), MISTAKE)
    return sum(belief[number] * max(0.0, shift) for number, shift in zip(row.who, row.shifts[0], strict=True))


def can_change_order(row: OutcomeRow, belief: Sequence[float]) -> bool:
    """Whether some outcome of a step changes the order of the most probable causes."""
    leaders = _leaders(belief)
    held = [belief[number] for number in leaders]
    before = list(range(ORDERED))
    for chances in row.chances(leaders):
        masses = list(map(mul, held, chances))
        if sorted(range(len(masses)), key=masses.__getitem__, reverse=True)[:ORDERED] != before[: len(masses)]:
            return True
    return False


def _leaders(belief: Sequence[float]) -> list[int]:
    """Return the numbers of the most probable hypotheses, the most probable first."""
    return heapq.nlargest(CONSIDERED, range(len(belief)), key=belief.__getitem__)


def _cost_after(candidate: OpenStep, plan: Sequence[Repair], belief: Sequence[float]) -> float:
    """Return the expected cost of repair once the step is taken, the step included."""
    numbers = [r.hypothesis for r in plan]
    held = [belief[number] for number in numbers]
    chances = candidate.row.chances(numbers)
    common = heapq.nlargest(OUTCOMES_PLANNED, enumerate(candidate.row.predicted(belief)), key=itemgetter(1))
    after, rest, left = 0.0, held, 1.0
    for k, probability in common:
        masses = list(map(mul, held, chances[k]))
        after += expected_cost(plan, masses, probability)
        rest = list(map(sub, rest, masses))
        left -= probability
    if len(common) < len(chances):
        after += expected_cost(plan, rest, left)  # rare outcomes together, as if they could not be told apart
    return candidate.move.seconds + ATTENTION + after


def _fixes(guide: Guide, plan: Sequence[Repair], belief: Sequence[float]) -> list[TryFix]:
    """Return the fixes worth proposing, the one with the most chance for its cost first."""
    likely = [r for r in plan if belief[r.hypothesis] * r.works >= LEAST_CHANCE]
    likely.sort(key=lambda r: (-belief[r.hypothesis] * r.works / r.seconds, r.hypothesis))
    return [_try(guide, repair, belief) for repair in likely]


def _try(guide: Guide, repair: Repair, belief: Sequence[float]) -> TryFix:
    entry, cause, fix = guide.fixes[repair.fix.id]
    chance = belief[repair.hypothesis] * repair.works
    return TryFix(entry=entry, cause=cause, fix=fix, chance=chance, seconds=repair.seconds)
