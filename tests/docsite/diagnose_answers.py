"""Asks Python and the page's scripts the same questions."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from distkb.catalogue.model import Catalogue
from distkb.diagnosis.belief import entry_totals
from distkb.diagnosis.guide import Guide
from distkb.diagnosis.moves import Ask, Done, Move, Take, TryFix
from distkb.diagnosis.session import Event, Redone, Session, Undone
from distkb.diagnosis.view import view
from distkb.docsite import diagnose
from distkb.docsite.build import sources
from distkb.docsite.data import search
from distkb.docsite.scripts import address, slim
from distkb.docsite.views import Library
from distkb.evidence.observation import Evidence
from distkb.knowledge import open_knowledge
from distkb.report.meaning import Meanings
from distkb.search.index import Index, load

RUN = Path(__file__).with_name("run_diagnosis.js")


class Engine:
    """The catalogue, prepared for Python and written for the scripts."""

    def __init__(self, folder: Path) -> None:
        compiled = open_knowledge()
        self.catalogue: Catalogue = compiled.catalogue()
        self.index: Index = load(compiled.search_index())
        self.guide = Guide(self.catalogue)
        self._folder = folder
        library = Library(self.catalogue, (), Meanings(self.catalogue), search=compiled.search_index())
        for name, content in (*diagnose.scripts(library), *search.scripts(library)):
            (folder / name).write_bytes(content)
            # parts of the index are asked for by the names that the site gives them
            (folder / Path(address(name, content)).name).write_bytes(content)
        for path in (sources() / "assets").glob("*.js"):
            (folder / path.name).write_text(slim(path.read_text(encoding="utf-8")), encoding="utf-8")

    def scripts(
        self, texts: Sequence[str], sessions: Sequence[Sequence[Event]], logs: Sequence[str] = ()
    ) -> dict[str, Any]:
        """What the scripts answer."""
        events = [[plain(event) for event in events] for events in sessions]
        asked = json.dumps({"texts": texts, "logs": logs, "sessions": events})
        done = subprocess.run(
            ["node", str(RUN), str(self._folder)], input=asked, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-2000:]
        answers: dict[str, Any] = json.loads(done.stdout)
        return answers

    def python(self, events: Sequence[Event]) -> dict[str, Any]:
        """What the program shows of a session, in the form that the scripts print."""
        shown = view(Session(id="", events=tuple(events)), self.guide)
        causes = shown.diagnosis.causes
        entries = list(dict.fromkeys(ranked.entry.id for ranked in causes))[:5]
        chance = {ranked.cause.id: ranked.probability for ranked in causes}
        return {
            "posterior": [chance.get(h.id, shown.other.probability) for h in self.guide.table.hypotheses],
            "verdict": shown.diagnosis.verdict,
            "entries": entries,
            "totals": entry_totals({ranked.cause.id: ranked.probability for ranked in causes}),
            "causes": [ranked.cause.id for ranked in causes if ranked.entry.id in entries],
            "moved": [[c.observation.id, c.weight] for c in causes[0].evidence],
            "moves": [move(one) for one in (shown.next, *shown.alternatives)],
            "observations": [o.id for o in shown.diagnosis.evidence.observations],
        }


def move(one: Move) -> dict[str, Any]:
    """A move in the form that the scripts print."""
    match one:
        case Ask(question=question):
            options = [option.value for option in question.options]
            return {"type": "ask", "id": question.id, "options": options, "bits": one.gain_bits}
        case Take(step=step):
            return {"type": "take", "id": step.id, "bits": one.gain_bits}
        case TryFix(fix=fix):
            return {"type": "try-fix", "id": fix.id, "chance": one.chance}
        case Done(fix=fix):
            return {"type": "done", "id": fix.id}
    return {"type": "nothing-fits"}


def plain(event: Event) -> dict[str, Any]:
    """An event in the form that the scripts read."""
    if isinstance(event, Undone | Redone):
        return {"type": type(event).__name__}
    made: dict[str, Any] = msgspec.to_builtins(event)
    if "evidence" in made:
        made["evidence"]["logCoverage"] = made["evidence"].pop("log_coverage")
    return made


def observed(evidence: Evidence) -> list[dict[str, Any]]:
    """Observations in the form that the scripts print."""
    return [
        {
            "id": o.id,
            "source": o.source,
            "present": o.present,
            "certainty": o.certainty,
            "count": o.count,
            "quotes": [{"text": quote.text, "line": quote.line} for quote in o.quotes],
        }
        for o in evidence.observations
    ]
