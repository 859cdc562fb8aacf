"""The questions of the diagnosis as linked pages: a tree that works without a script, on paper and as a link.

The tree is grown where it tells most: of the pages that could ask, the one that is reached most often with most left
to tell comes next, until the budget of pages is spent. What asks nothing is a leaf: the causes, the likeliest first.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from distkb.catalogue.model import PROBABILITY
from distkb.catalogue.records import LANGUAGES
from distkb.diagnosis.guide import Guide
from distkb.diagnosis.information import entropy_bits
from distkb.diagnosis.moves import Ask
from distkb.diagnosis.propose import OpenStep, questions, worthwhile
from distkb.diagnosis.questions import LINES, Question
from distkb.diagnosis.repair import plan
from distkb.diagnosis.session import Answered, DontKnow, Event
from distkb.docsite.site import Page, at, entry_address, make_page, named_address
from distkb.locale import Say

if TYPE_CHECKING:
    from distkb.catalogue.model import Cause, Cue
    from distkb.docsite.text import Writer
    from distkb.docsite.views import Library

PAGES = 98
"""Pages of the tree in each language: what the weight of the whole site leaves room for."""

UNKNOWN = "unknown"
"""The answer of whoever does not know."""

LOST = 0.15
"""How often a person does not know the answer."""

LEAST_ANSWERS = 3
"""Pages that a question takes at least: two answers and not knowing."""

SHOWN = 7
"""Entries that a leaf lists."""

CAUSES = 3
"""Causes of one entry that a leaf lists."""

DETAILED = 3
"""So many of the entries of a leaf are listed with their causes."""

BESIDE = 0.4
"""A cause is listed beside the likeliest one of its entry where it is at least this share as likely."""

LEAST_SHOWN = 0.02
"""An entry that is less likely than this is not listed, unless it is among the first three."""

SO_FAR = 3
"""Entries that a question names as likely so far."""

LEAST_TELLING = 0.5
"""Only what a cause shows at least this often is named as what to look for."""

WORDS = ((0.6, "very-likely"), (0.3, "likely"), (0.1, "possible"))
"""From which probability on an entry is called how."""

NEARLY = 0.5
"""Where nothing is likely yet, what is at least this share as likely as the first is called possible like the first."""


@dataclass
class Node:
    """One page of the tree: a question with its answers, or the causes."""

    steps: tuple[str, ...]
    """Names of the answers that lead here."""
    events: tuple[Event, ...]
    mass: float
    """How often a reader comes here, of one that begins."""
    belief: Sequence[float]
    """Probability of every hypothesis, in the order of the table."""
    parent: Node | None = None
    question: Question | None = None
    """What is asked here; None at a leaf."""
    answers: list[tuple[str, Node]] = field(default_factory=list)
    """Value of the option, empty for none of the lines, `UNKNOWN` for not knowing, with where it leads."""

    @property
    def address(self) -> str:
        """Return the address of the page below its language."""
        return f"tree/{'/'.join(self.steps) or 'index'}.html"


def grow(guide: Guide, pages: int = PAGES) -> Node:
    """Return the root of a tree of at most `pages` nodes; the same catalogue always gives the same tree."""
    root = Node((), (), 1.0, guide.belief(guide.belief_after(()).posterior))
    numbers = count()
    waiting = [(-1.0, next(numbers), root)]
    grown = 1
    while waiting and grown + LEAST_ANSWERS <= pages:
        _, _, node = heapq.heappop(waiting)
        best = _best(guide, node)
        if best is None or grown + len(best.row.outcomes) + 1 > pages:
            continue
        for value, child in _branches(guide, node, best):
            node.answers.append((value, child))
            # What a question could tell at most, as often as it would be asked.
            heapq.heappush(waiting, (-child.mass * entropy_bits(child.belief), next(numbers), child))
        grown += len(node.answers)
    return root


def _best(guide: Guide, node: Node) -> OpenStep | None:
    """Return the question to ask; None where trying a fix is the better move.

    The first is the one that any session begins with; after it, as pages are what a tree has few of, the one that
    tells most for each of its answers.
    """
    known = guide.known(node.events)
    posterior = {h.id: p for h, p in zip(guide.table.hypotheses, node.belief, strict=True)}
    offered = questions(guide, known, posterior)
    _, saving = worthwhile(offered, plan(guide.table, node.belief, known.fixes), node.belief)
    if not node.steps:
        return next(iter(saving), None)
    return max(saving, key=lambda c: c.move.gain_bits / (len(c.row.outcomes) + 1), default=None)


def _branches(guide: Guide, node: Node, asked: OpenStep) -> Iterator[tuple[str, Node]]:
    """Yield each answer with the node that it leads to."""
    if not isinstance(asked.move, Ask):
        return
    question = node.question = asked.move.question
    shares = asked.row.predicted(node.belief)
    if question.kind == "fact":
        chances = asked.row.chances(range(len(node.belief)))
        for value, share, chance in zip(asked.row.outcomes, shares, chances, strict=True):
            belief = [p * c / share for p, c in zip(node.belief, chance, strict=True)]
            yield value, _child(node, f"{question.id}-{value}", (question.answer(value),), share * (1 - LOST), belief)
    else:
        offered = tuple(option.value for option in question.options)
        for value, share in zip(offered, shares, strict=False):
            # Whoever follows the first line that is there has not looked for the lines below it.
            events: tuple[Event, ...] = (Answered(question=question.id, values=(value,), offered=(value,)),)
            if len(offered) > 1:
                events += (DontKnow(question=question.id, offered=tuple(o for o in offered if o != value)),)
            yield value, _read(guide, node, value, events, share * (1 - LOST))
        yield "", _read(guide, node, "none", (question.answer(),), shares[-1] * (1 - LOST))
    yield UNKNOWN, _child(node, f"{question.id}-{UNKNOWN}", (question.unknown(),), LOST, node.belief)


def _read(guide: Guide, node: Node, name: str, events: tuple[Event, ...], share: float) -> Node:
    """Return the node after an answer about lines, which fade and repeat one another as the belief says."""
    belief = guide.belief(guide.belief_after((*node.events, *events)).posterior)
    return _child(node, f"{LINES}-{name}", events, share, belief)


def _child(node: Node, name: str, events: tuple[Event, ...], share: float, belief: Sequence[float]) -> Node:
    return Node((*node.steps, name), (*node.events, *events), node.mass * share, belief, node)


def walk(root: Node) -> Iterator[Node]:
    """Yield every node, parents before their children, in the order of the answers."""
    yield root
    for _, child in root.answers:
        yield from walk(child)


def pages(library: Library) -> Iterator[Page]:
    """Yield the pages of the tree in both languages."""
    guide = Guide(library.catalogue)
    nodes = list(walk(grow(guide)))
    for lang in LANGUAGES:
        say = Say(lang)
        for node in nodes:
            write = at(library, lang, node.address)
            trail = list(_trail(node, say))
            values = {
                "node": node,
                "trail": trail,
                "asked": _asked(node, say, write) if node.answers else None,
                "entries": [*_entries(node, guide, library, say, write)],
                "facts": _facts(node),
            }
            heading = say.text(node.question.text) if node.answers and node.question else say("site.tree.causes")
            told = " › ".join([say("site.tree"), *(label for _, _, label in trail), heading])
            title = " › ".join([heading, *(label for _, _, label in trail[-1:])])
            yield make_page(lang, node.address, "tree", title, told, values | {"heading": heading})


def _trail(node: Node, say: Say) -> Iterator[tuple[str, str, str]]:
    """Yield address and words of every question that was asked, and the answer that was given, the first one first."""
    if node.parent is None or node.parent.question is None:
        return
    yield from _trail(node.parent, say)
    value = next(value for value, child in node.parent.answers if child is node)
    yield node.parent.address, say.text(node.parent.question.text), _label(node.parent.question, value, say)


def _label(question: Question, value: str, say: Say) -> str:
    option = next((option for option in question.options if option.value == value), None)
    if option is not None:
        return say.text(option.label)
    return say("site.tree.unknown" if value == UNKNOWN else "site.tree.none")


def _asked(node: Node, say: Say, write: Writer) -> dict[str, Any]:
    """Return the question of a node with its answers, each with its address."""
    question = node.question
    if question is None:
        return {}
    examples = {option.value: option.example or "" for option in question.options}
    return {
        "why": write.inline(say.text(question.why)),
        "options": [
            (child.address, write.code_only(_label(question, value, say)), examples.get(value, ""), value == UNKNOWN)
            for value, child in node.answers
        ],
    }


def _entries(node: Node, guide: Guide, library: Library, say: Say, write: Writer) -> Iterator[dict[str, Any]]:
    """Yield the likeliest entries, each with those of its causes that are likely beside the likeliest one."""
    held: dict[str, list[tuple[float, Cause]]] = {}
    for probability, hypothesis in zip(node.belief, guide.table.hypotheses, strict=True):
        if hypothesis.entry is not None and hypothesis.cause is not None:
            held.setdefault(hypothesis.entry.id, []).append((probability, hypothesis.cause))
    answers = [e for e in node.events if isinstance(e, Answered)]
    told = {name for e in answers for value in e.values for name in (value, f"{e.question}={value}")}
    totals = {name: sum(p for p, _ in causes) for name, causes in held.items()}
    ranked = sorted(totals, key=lambda name: (-totals[name], name))
    detailed = not node.answers
    for place, name in enumerate(ranked[: SHOWN if detailed else SO_FAR]):
        if totals[name] < LEAST_SHOWN and place >= SO_FAR:
            return
        causes = sorted(held[name], key=lambda pair: (-pair[0], pair[1].id))
        likely = [cause for p, cause in causes if p >= causes[0][0] * BESIDE][:CAUSES]
        yield {
            "id": name,
            "href": entry_address(name),
            "title": write.code_only(library.meanings.title(name, say)),
            "word": say(f"site.tree.{called(totals[name], totals[ranked[0]])}"),
            "causes": [*_causes(likely, told, guide, library, say, write)] if detailed and place < DETAILED else [],
        }


def called(probability: float, highest: float) -> str:
    """Return how likely an entry is called, of which the likeliest has the highest probability."""
    word = next((word for least, word in WORDS if probability >= least), None)
    return word or ("possible" if probability >= NEARLY * highest and highest < WORDS[-1][0] else "unlikely")


def _causes(
    causes: Sequence[Cause], told: Iterable[str], guide: Guide, library: Library, say: Say, write: Writer
) -> Iterator[dict[str, str]]:
    """Yield causes of one entry with what would show each, beyond what was told, and the first fix of each."""
    used = set(told)
    for cause in causes:
        fix = next(iter(cause.fixes), None)
        telling = max(
            (e for e in cause.cues if e.observation not in used and _can_be_seen(e, guide)),
            key=lambda e: (library.meanings.lift(e) * PROBABILITY[e.likelihood], e.observation),
            default=None,
        )
        used |= {telling.observation} if telling else set()
        signature = guide.signatures.get(telling.observation) if telling else None
        yield {
            "href": named_address(cause.id),
            "title": write.code_only(say.text(cause.title)),
            "telling": write.inline(library.meanings.sentence(telling.observation, say)) if telling else "",
            "example": (signature.example or "") if signature and cause is causes[0] else "",
            "fix": write.code_only(say.text(fix.title)) if fix else "",
            "fix_href": named_address(fix.id) if fix else "",
        }


def _can_be_seen(evidence: Cue, guide: Guide) -> bool:
    """Whether a reader who has the cause is likely to find it: what people write in reports is nothing to look for."""
    signature = guide.signatures.get(evidence.observation)
    said_only = signature is not None and signature.where == ("report",)
    return PROBABILITY[evidence.likelihood] >= LEAST_TELLING and not said_only


def _facts(node: Node) -> str:
    """Return the answers as options of the command line."""
    given = [(e.question, v) for e in node.events if isinstance(e, Answered) and not e.offered for v in e.values]
    return "".join(f" --fact {question}={value}" for question, value in given)
