"""What the page that diagnoses asks of the program, which runs inside it: to read what was given, to show a session.

All goes in and out as JSON, since a script is at the other end; what is shown comes as elements (`elements`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from distkb import intake
from distkb.catalogue.compiled import Compiled
from distkb.catalogue.model import Fix, Step
from distkb.catalogue.records import Language
from distkb.diagnosis.batch import with_next
from distkb.diagnosis.guide import Guide
from distkb.diagnosis.model import Diagnosis
from distkb.diagnosis.moves import Ask, Done, Move, Take, TryFix
from distkb.diagnosis.presumed import OUTPUT
from distkb.diagnosis.questions import Question
from distkb.diagnosis.session import (
    Answered,
    DontKnow,
    Event,
    EvidenceAdded,
    FixTried,
    ProbeResult,
    Session,
    StepDeclined,
    standing,
)
from distkb.diagnosis.view import view
from distkb.evidence.observation import Evidence, Observation, Quote
from distkb.evidence.readers.report.printed_text import is_output
from distkb.locale import Say, sentences
from distkb.report import markdown, rollcall, skipped
from distkb.report import text as report
from distkb.report.elements import ElementPage, inline
from distkb.report.meaning import Meanings
from distkb.report.measure import best_of_entries, entry_total, percent
from distkb.search.index import Index, load

SHOWN = 5
"""Entries of the ranking."""
MOST_LANES = 16
"""Ranks of a drawing: of more, those that one looks for first."""
_EVENTS = msgspec.json.Decoder(tuple[Event, ...])


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be read."""

    text: str = ""
    """The person's words."""
    names: tuple[str, ...] = ()
    """Files and folders in the folder of what was given."""
    label: str = "description"
    step: str | None = None
    """The step that asked for it."""


class PageSession:
    """The program inside a page, in one language."""

    def __init__(self, folder: str, lang: Language) -> None:
        """Open the compiled catalogue of a folder; `NotCompiledError` where it is none of this version.

        What was made ready of its patterns lies beside it, in `cache`.
        """
        self._cache = Path(folder) / "cache"
        self._compiled = Compiled((Path(folder) / "catalogue").read_bytes())
        self._catalogue = self._compiled.catalogue()
        self._guide = Guide(self._catalogue)
        self._meanings = Meanings(self._catalogue)
        self._say = Say(lang)
        self._entries = frozenset(entry.id for entry in self._catalogue.entries)
        self._facts = {fact.id: fact for fact in self._catalogue.facts}

    @cached_property
    def _index(self) -> Index:
        return load(self._compiled.search_index())

    def words(self) -> str:
        """Return the sentences that the script itself says, by key."""
        of_site = sentences(self._say.lang, "site")
        begin = "site.diagnose."
        said = {key.removeprefix(begin): text for key, text in of_site.items() if key.startswith(begin)}
        return _json(said)

    def is_log(self, text: str) -> bool:
        """Whether a text is what programs print, and is to be given as a file."""
        return is_output(text)

    def warm(self) -> None:
        """Make ready what the first reading takes, so that it does not wait for it."""
        self._read("training hangs, rank 0 waits", ())
        view(Session(id=""), self._guide)

    def read(self, given: str, folder: str) -> str:
        """Return the event of what was read: the words, and the files of a folder."""
        asked = msgspec.json.decode(given, type=Given)
        os.chdir(folder)
        evidence = self._read(asked.text, [Path(name) for name in asked.names])
        event = EvidenceAdded(label=asked.label, evidence=evidence, paths=asked.names, step=asked.step)
        return _json(event)

    def _read(self, text: str, paths: Iterable[Path]) -> Evidence:
        return intake.read(
            self._catalogue,
            tuple(paths),
            report=text if text.strip() else None,
            index=lambda: self._index,
            cache_dir=self._cache,
        )

    def show(self, events: str) -> str:
        """Return all that the page shows of a session; ValueError (of msgspec) for what are no events of one."""
        given = _EVENTS.decode(events)
        shown = view(Session(id="", events=given), self._guide)
        diagnosis = with_next(self._guide, shown)
        moves = (shown.next, *shown.alternatives)
        return _json(
            {
                "answer": self._answer(diagnosis),
                "entries": self._ranking(diagnosis),
                "other": {"percent": percent(diagnosis.other), "share": diagnosis.other},
                "moves": [self._move(move, diagnosis.fix) for move in moves],
                "skipped": [skipped.sentence(one, self._say) for one in diagnosis.evidence.skipped],
                "lanes": self._lanes(diagnosis.evidence),
                "facts": [self._fact(one) for one in diagnosis.evidence.observations if one.present and "=" in one.id],
                "course": list(self._course(given)),
                "standing": standing(given),
                "canUndo": shown.can_undo,
                "canRedo": shown.can_redo,
                "markdown": markdown.write(diagnosis, self._meanings, self._say),
            }
        )

    # ---- the answer ----

    def _answer(self, diagnosis: Diagnosis) -> list[Any]:
        page = ElementPage(self._entries)
        told = msgspec.structs.replace(diagnosis, next=None, collect=None)  # the page asks for it with buttons
        report.write_on(page, told, self._meanings, self._say)
        return page.elements

    def _ranking(self, diagnosis: Diagnosis) -> list[dict[str, Any]]:
        found = []
        for ranked in best_of_entries(diagnosis)[:SHOWN]:
            entry = ranked.entry
            share = entry_total(diagnosis, entry.id)
            title = self._inline(self._say.text(entry.title))
            found.append({"id": entry.id, "title": title, "share": share, "percent": percent(share)})
        return found

    def _lanes(self, evidence: Evidence) -> dict[str, Any] | None:
        """Return when each rank spoke last, and when what failed: a lane each. None where times are not known."""
        ranks = sorted((one for one in evidence.ranks if _time(one.last) is not None), key=rollcall.order)[:MOST_LANES]
        times = [time for one in (*(one.last for one in ranks), *evidence.notes) if (time := _time(one)) is not None]
        times += [run.start for run in evidence.runs if run.diagnosed and run.start is not None]
        if len(ranks) < 2 or max(times) <= min(times):
            return None
        lanes = []
        for one in sorted(ranks, key=lambda one: one.rank):
            marks = [note.time for note in evidence.notes if note.rank == one.rank and note.time is not None]
            spoke = [time for time in (_time(one.last), *marks) if time is not None]
            lanes.append({"rank": one.rank, "to": max(spoke), "marks": marks})
        told = " ".join(rollcall.said([one], self._say) for one in ranks)
        return {"from": min(times), "until": max(times), "ranks": lanes, "told": told}

    # ---- what is known, and what was done ----

    def _fact(self, one: Observation) -> dict[str, Any]:
        name, _, value = one.id.partition("=")
        fact = self._facts.get(name)
        options = [] if fact is None else [(v.value, self._say.text(v.label)) for v in fact.values]
        source = one.source if one.source in ("report", "answer", "log") else "probe"
        question = name if fact is None else self._say.text(fact.question)
        return {"id": name, "value": value, "question": question, "options": options, "source": source}

    def _course(self, events: tuple[Event, ...]) -> Iterator[dict[str, Any]]:
        """Yield number and words of each event that can be taken back."""
        for number in standing(events):
            text = self._did(events[number])
            if text:
                yield {"number": number, "text": text}

    def _did(self, event: Event) -> str:
        """Return what one event was; empty for an answer to a question about the run, which is shown as a fact."""
        say, key = self._say, ""
        values: dict[str, object] = {}
        match event:
            case Answered(offered=offered, values=chosen) if offered:
                key, values = "lines", {"n": len(chosen), "all": len(offered)}
            case DontKnow(question=question):
                fact = self._facts.get(question)
                key, values = "unknown", {"what": say.text(fact.question) if fact else say("site.diagnose.lines")}
            case EvidenceAdded(step=step, paths=paths):
                name = ", ".join(paths) or say("site.diagnose.description")
                key, values = "read", {"what": self._step(step) if step else name}
            case ProbeResult(step=step):
                key, values = "step", {"what": self._step(step)}
            case StepDeclined(step=step):
                key, values = "declined", {"what": self._step(step)}
            case FixTried(fix=fix, outcome=outcome):
                title = say.text(self._guide.fixes[fix][2].title) if fix in self._guide.fixes else ""
                return f"{say(f'site.diagnose.fix.{outcome}')}: {fix} {title}"
        return say(f"site.diagnose.did.{key}", **values) if key else ""

    def _step(self, identity: str) -> str:
        """Return the first sentence of a step."""
        step = self._guide.steps.get(identity)
        words = self._say.text(step.text) if step else identity
        return words.partition(": ")[0].partition(". ")[0]

    # ---- the next move ----

    def _move(self, move: Move, answered: Fix | None) -> dict[str, Any]:
        """Return one move; `answered` is the fix that the answer tells whole already."""
        match move:
            case Ask(question=question):
                return self._ask(question)
            case Take(step=step):
                return self._take(step)
            case TryFix(fix=fix, chance=chance):
                return self._try(fix, chance, told=answered is not None and fix.id == answered.id)
            case Done(fix=fix):
                say = self._say
                verify = self._inline(say("fix.verify", text=say.text(fix.verify)))
                title = self._inline(say.text(fix.title))
                return {"type": "done", "id": fix.id, "name": say("site.diagnose.done"), "title": title, "told": verify}
        return {"type": "nothing-fits", "id": "", "name": self._say("site.diagnose.lost")}

    def _try(self, fix: Fix, chance: float, *, told: bool) -> dict[str, Any]:
        say = self._say
        cost, risk = say(f"cost.{fix.cost}"), say(f"risk.{fix.risk}")
        return {
            "type": "try-fix",
            "id": fix.id,
            "name": f"{say('site.diagnose.fix')}: {say.text(fix.title)}",
            "title": self._inline(say.text(fix.title)),
            "terms": say("site.diagnose.fix.chance", percent=percent(chance), cost=cost, risk=risk),
            "workaround": fix.workaround,
            "told": [] if told else self._whole(fix),
        }

    def _ask(self, question: Question) -> dict[str, Any]:
        text = self._say.text
        options = [
            {"value": one.value, "label": self._inline(text(one.label)), "example": one.example or ""}
            for one in question.options
        ]
        return {
            "type": "ask",
            "id": question.id,
            "kind": question.kind,
            "multi": question.multi,
            "name": text(question.text),
            "why": self._inline(text(question.why)),
            "options": options,
        }

    def _take(self, step: Step) -> dict[str, Any]:
        known = self._guide.table.kinds
        return {
            "type": "take",
            "id": step.id,
            "kind": "output" if step.id == OUTPUT else step.kind,
            "name": self._say.text(step.text),
            "text": self._inline(self._say.text(step.text)),
            "commands": "\n".join(step.commands),
            "reveals": [
                {"id": name, "means": self._inline(self._meanings.sentence(name, self._say))}
                for name in step.reveals
                if name in known
            ],
        }

    def _whole(self, fix: Fix) -> list[Any]:
        page = ElementPage(self._entries)
        report.write_fix(page, fix, self._say, heading=False)
        return page.elements[1:]  # the card has its name

    def _inline(self, text: str) -> list[Any]:
        return inline(text, self._entries)


def _time(quote: Quote | None) -> float | None:
    return None if quote is None else quote.time


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
