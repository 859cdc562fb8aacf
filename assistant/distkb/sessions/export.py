"""A session written down: as Markdown to read and pass on, as JSON for programs, and as a report to file upstream.

Nothing leaves unmasked: every text that came from the run passes through `clean`, which removes control characters and
replaces tokens, keys and passwords.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

import distkb
from distkb.catalogue.model import Fix
from distkb.diagnosis.guide import Guide
from distkb.diagnosis.moves import Done, NothingFits, TryFix
from distkb.diagnosis.questions import LINES, LINES_TEXT
from distkb.diagnosis.session import (
    Answered,
    DontKnow,
    EvidenceAdded,
    FixTried,
    ProbeResult,
    Session,
    StepDeclined,
    standing,
)
from distkb.diagnosis.view import SessionView, TrailItem
from distkb.evidence.border import fit
from distkb.evidence.observation import Observation, Quote
from distkb.evidence.text.clean import mask, plain
from distkb.locale import Say
from distkb.report.certainty import certainty
from distkb.report.json import encode
from distkb.report.markdown import code, fenced, prose
from distkb.report.meaning import Meanings
from distkb.report.measure import percent
from distkb.report.rollcall import lines
from distkb.report.story import tell

SCHEMA = "distkb.session-export/1"
CAUSES_SHOWN = 5
SEEN_SHOWN = 12
QUOTES_SHOWN = 2


class _Words:
    """What ids mean, in one language."""

    def __init__(self, guide: Guide, say: Say) -> None:
        self.say = say
        self._guide = guide
        self.meanings = Meanings(guide.catalogue)

    def title(self, name: str) -> str:
        """Return the title of an entry, a cause or a fix."""
        if name in self._guide.fixes:
            return self.say.text(self._guide.fixes[name][2].title)
        return self.meanings.title(name, self.say)

    def question(self, name: str) -> str:
        """Return a question's words; empty where the catalogue no longer has it."""
        if name == LINES:
            return self.say.text(LINES_TEXT)
        fact = self._guide.facts.get(name)
        return self.say.text(fact.question) if fact else ""

    def seen(self, observation: Observation) -> str:
        """Return what was observed; a fact with the question that it answers."""
        name, is_fact, value = observation.id.partition("=")
        fact = self._guide.facts.get(name) if is_fact else None
        label = next((v.label for v in fact.values if v.value == value), None) if fact else None
        if fact is None or label is None:
            return self.meanings.seen(observation, self.say)
        return self.say("session.export.fact", question=self.say.text(fact.question), answer=self.say.text(label))


def markdown(session: Session, view: SessionView, guide: Guide, say: Say) -> str:
    """Return the whole session as a Markdown document."""
    words = _Words(guide, say)
    blocks = [f"# {say('session.export.title', title=_prose(session.title or session.id))}"]
    blocks.append(say("session.export.made", version=distkb.__version__, started=_prose(session.started)))
    told = tell(view.diagnosis.evidence, words.meanings, say)
    roll = [f"- {_prose(line)}" for line in lines(view.diagnosis.evidence.ranks, say)]
    blocks += ["\n".join(block) for block in ([_prose(told)] if told else [], roll) if block]
    blocks += [_outcome(view, words), certainty(view, say, meanings=words.meanings)]
    blocks += [f"## {say('session.export.causes')}", _causes(view, words)]
    trail = [_item(item, words) for item in view.trail if item.state == "counts"]
    if trail:
        blocks += [f"## {say('session.export.trail')}", "\n".join(trail)]
    blocks += _fix(view, say)
    return "\n\n".join(blocks) + "\n"


def upstream(session: Session, view: SessionView, guide: Guide, say: Say) -> str:
    """Return a report for the maintainers of the library in question: what was seen, and what was ruled out."""
    words = _Words(guide, say)
    observations = _distinct(o for o in view.diagnosis.evidence.observations if not o.supposes)
    seen = [o for o in observations if o.present and "=" not in o.id and not o.id.startswith("fix.")]
    facts = [o for o in observations if o.present and "=" in o.id]
    absent = [o for o in observations if not o.present and not o.id.startswith("fix.")]
    tried = [e for e in _standing(session) if isinstance(e, FixTried)]
    blocks = [f"# {say('session.upstream.title')}", say("session.upstream.intro", version=distkb.__version__)]
    blocks += _section("session.upstream.seen", [_observation(o, words) for o in seen[:SEEN_SHOWN]], say)
    blocks += _section("session.upstream.setup", [f"- {_seen(o, words)}" for o in facts], say)
    blocks += _section("session.upstream.versions", [f"- {code(v)}" for v in _versions(observations)], say)
    blocks += _section("session.upstream.absent", [f"- {_seen(o, words)}" for o in absent[:SEEN_SHOWN]], say)
    blocks += _section("session.upstream.tried", [_tried(e, words) for e in tried], say)
    blocks += _section("session.upstream.considered", [_causes(view, words)], say)
    blocks += [f"## {say('session.upstream.to-add')}", say("session.upstream.please")]
    return "\n\n".join(blocks) + "\n"


def json(session: Session, view: SessionView) -> str:
    """Return the session as one JSON document: its events, masked, and what they led to."""
    return encode(document(session, view))


def document(session: Session, view: SessionView) -> dict[str, Any]:
    """Return the session as plain data."""
    return {
        "schema": SCHEMA,
        "version": distkb.__version__,
        "id": session.id,
        "started": session.started,
        "title": _clean(session.title),
        "events": [fit(msgspec.to_builtins(event)) for event in session.events],
        "entries": [{"entry": r.id, "probability": round(r.probability, 6)} for r in view.entries],
        "fix": None if (fix := proposed_fix(view)) is None else fix.id,
        "causes": [{"cause": r.id, "probability": round(r.probability, 6)} for r in view.causes],
        "other": round(view.other.probability, 6),
        "next": _next(view),
    }


def _next(view: SessionView) -> dict[str, Any]:
    move = view.next
    if isinstance(move, TryFix | Done):
        return {"kind": "try-fix" if isinstance(move, TryFix) else "done", "id": move.fix.id}
    if isinstance(move, NothingFits):
        return {"kind": "nothing-fits"}
    kind, name = ("ask", move.question.id) if hasattr(move, "question") else ("take", move.step.id)
    return {"kind": kind, "id": name}


def _clean(text: str) -> str:
    return mask(plain(text))


def _prose(text: str) -> str:
    return prose(_clean(text))


def _standing(session: Session) -> list[Any]:
    return [session.events[number] for number in standing(session.events)]


def _outcome(view: SessionView, words: _Words) -> str:
    match view.next:
        case Done(cause=cause, fix=fix):
            title, done = prose(words.say.text(cause.title)), prose(words.say.text(fix.title))
            return words.say("session.export.done", id=cause.id, title=title, fix=done)
        case NothingFits():
            return words.say("session.export.nothing-fits")
    first = view.entries[0] if view.entries else None
    if first is None:
        return words.say("session.export.nothing-fits")
    title = prose(words.title(first.id))
    return words.say("session.export.open", id=first.id, title=title, percent=percent(first.probability))


def _causes(view: SessionView, words: _Words) -> str:
    leading: dict[str, str] = {}
    for cause in view.causes:
        leading.setdefault(cause.id.partition(".")[0], cause.id)
    rows = [
        f"- **{r.id}** {prose(words.title(r.id))} ({percent(r.probability)}): "
        f"{leading[r.id]} {prose(words.title(leading[r.id]))}"
        for r in view.entries
    ]
    other = f"- {words.say('session.export.other')} ({percent(view.other.probability)})"
    return "\n".join([*rows[:CAUSES_SHOWN], other])


def _item(item: TrailItem, words: _Words) -> str:
    moved = ", ".join(f"{s.cause} {percent(s.before)} → {percent(s.after)}" for s in item.moved)
    told = [f"- {_happened(item, words)}{f' ({moved})' if moved else ''}"]
    if isinstance(item.event, EvidenceAdded | ProbeResult):
        telling, rest = words.meanings.parted(item.observations)
        shown = [*telling, *(o for o in rest if o.present)][:SEEN_SHOWN]
        told += ["  " + line for o in shown for line in _observation(o, words).split("\n")]
    return "\n".join(told)


def _happened(item: TrailItem, words: _Words) -> str:
    said = ""
    match item.event:
        case Answered():
            seen = "; ".join(_seen(o, words) for o in item.observations if o.present)
            said = words.say("session.export.answered", answer=seen or words.say("session.export.none-of-the-lines"))
        case DontKnow(question=question):
            said = words.say("session.export.unknown", question=_question(question, words))
        case EvidenceAdded(label=label):
            said = words.say("session.export.read", label=code(_clean(label)))
        case ProbeResult(step=step, status=status):
            said = words.say(f"session.export.checked.{status}", step=code(_clean(step)))
        case StepDeclined(step=step):
            said = words.say("session.export.declined", step=code(_clean(step)))
        case FixTried() as tried:
            said = _tried(tried, words).removeprefix("- ")
    return said


def _question(question: str, words: _Words) -> str:
    return prose(words.question(question)) or code(_clean(question))


def _tried(event: FixTried, words: _Words) -> str:
    title = prose(words.title(event.fix))
    return f"- {words.say(f'session.export.tried.{event.outcome}', id=event.fix, title=title)}"


def _observation(observation: Observation, words: _Words) -> str:
    lines = [f"- {_seen(observation, words)}"]
    lines += [f"  {_quote(quote)}" for quote in observation.quotes[:QUOTES_SHOWN] if quote.text]
    return "\n".join(lines)


def _seen(observation: Observation, words: _Words) -> str:
    return _prose(words.seen(observation))


def _quote(quote: Quote) -> str:
    place = (
        "" if quote.path is None else f"{quote.path}:{quote.line}: " if quote.line is not None else f"{quote.path}: "
    )
    return code(_clean(place + quote.text))


def _distinct(observations: Iterable[Observation]) -> list[Observation]:
    return list({o.id: o for o in observations}.values())


def _versions(observations: Iterable[Observation]) -> list[str]:
    """Return the versions that the evidence names, as `name value`."""
    found = {
        f"{name.replace('_', ' ')} {_clean(value)}"
        for o in observations
        for name, value in o.values.items()
        if "version" in name and value
    }
    return sorted(found)


def _section(heading: str, rows: list[str], say: Say) -> list[str]:
    return [f"## {say(heading)}", "\n".join(rows)] if rows else []


def proposed_fix(view: SessionView) -> Fix | None:
    """Return the fix that the screen offers: the move's own, else the first of the most probable cause."""
    if isinstance(view.next, TryFix | Done):
        return view.next.fix
    return next((fix for ranked in view.diagnosis.causes[:1] for fix in ranked.cause.fixes[:1]), None)


def _fix(view: SessionView, say: Say) -> list[str]:
    fix = proposed_fix(view)
    if fix is None:
        return []
    blocks = [f"## {say('session.export.fix', id=fix.id, title=prose(say.text(fix.title)))}"]
    blocks.append("\n".join(f"{n}. {prose(say.text(step))}" for n, step in enumerate(fix.steps, start=1)))
    if fix.commands:
        blocks.append(fenced("\n".join(fix.commands), "sh"))
    if fix.changes_results:
        blocks.append(prose(say.text(fix.changes_results)))
    blocks.append(prose(say.text(fix.verify)))
    return blocks
