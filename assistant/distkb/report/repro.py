"""Reproductions for people and programs: which can run here, and what one run showed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from distkb.evidence.observation import Quote
from distkb.locale import Say
from distkb.report.citations import readable
from distkb.report.json import encode
from distkb.report.layout import clean, width
from distkb.report.meaning import Meanings
from distkb.report.measure import answer, percent
from distkb.report.page import Ink, Page, plain
from distkb.repro.outcome import ProgramRun
from distkb.repro.program import Availability
from distkb.repro.verdict import ReproVerdict, document, said

SCHEMA = "distkb.repro/1"
_SHOWN, _RANKED = 3, 3
"""Observations and entries that the text names."""


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """One run with what was concluded from it; without a run, what was recorded elsewhere."""

    verdict: ReproVerdict
    run: ProgramRun | None = None
    fixed: bool = False


def list_json(rows: Sequence[Availability]) -> str:
    """Return the list as `[{"entry", "runnable", "reason", "kind", "seconds"}]`."""
    return encode([_row(row) for row in rows])


def _row(row: Availability) -> dict[str, Any]:
    spec = row.entry.repro
    return {
        "entry": row.entry.id,
        "runnable": row.reason is None,
        "reason": row.reason,
        "kind": None if spec is None else spec.kind,
        "seconds": None if spec is None or spec.kind == "hw" else spec.seconds,
    }


def list_text(rows: Sequence[Availability], say: Say, *, columns: int = 80, ink: Ink = plain) -> str:
    """Return what can run here, then what cannot, by reason."""
    page = Page(columns, ink)
    column = max((width(row.entry.id) for row in rows), default=0)
    runnable = [row for row in rows if row.reason is None]
    page.heading(say.count("repro.list.runnable", len(runnable)))
    for row in runnable:
        page.row([(row.entry.id, column)], say.text(row.entry.title), "  ")
    for reason in dict.fromkeys(row.reason for row in rows if row.reason is not None):
        page.heading(say(f"repro.list.{reason}"))
        for row in rows:
            if row.reason == reason:
                page.row([(row.entry.id, column)], say.text(row.entry.title), "  ")
    return page.text()


def run_json(shown: Shown, kept: Path | None) -> str:
    """Return the document `distkb.repro/1`."""
    run, spec = shown.run, shown.verdict.entry.repro
    return encode(
        {
            "schema": SCHEMA,
            "entry": shown.verdict.entry.id,
            "kind": None if spec is None else spec.kind,
            "fixed": shown.fixed,
            "run": None
            if run is None
            else {
                "exit_codes": run.exit_codes,
                "timed_out": run.timed_out,
                "seconds": round(run.seconds, 2),
                "stacks": run.stacks,
            },
            "artifacts": None if kept is None else clean(str(kept)),
            **document(shown.verdict),
        }
    )


def run_text(
    shown: Shown, meanings: Meanings, say: Say, *, kept: Path | None, columns: int = 80, ink: Ink = plain
) -> str:
    """Return the answer: whether it did as stated, what came out, and what the artifacts alone say."""
    page = Page(columns, ink)
    identity = shown.verdict.entry.id
    page.title(_title(shown, say))
    for complaint in shown.verdict.complaints:
        page.item("!", _complaint(complaint, shown, say), role="bad")
    if shown.fixed:
        _found(page, shown, meanings, say)
        page.blank()
        page.command(f"distkb show {identity}")
        return page.text()
    _came_out(page, shown, meanings, say)
    _answer(page, shown.verdict, say)
    _more(page, shown, kept)
    return page.text()


def _title(shown: Shown, say: Say) -> str:
    state = "fixed" if shown.fixed else "broken" if shown.run is not None else "recorded"
    seconds = "" if shown.run is None else f"{shown.run.seconds:.0f}"
    name = f"repro.{'as-stated' if shown.verdict.as_stated else 'not-as-stated'}.{state}"
    return say(name, id=shown.verdict.entry.id, seconds=seconds)


def _complaint(complaint: str, shown: Shown, say: Say) -> str:
    verdict, run = shown.verdict, shown.run
    spec = verdict.entry.repro
    late = run is not None and run.timed_out
    codes = "" if run is None else ", ".join(str(code) for code in run.exit_codes)
    return say(
        f"repro.complaint.{'late' if complaint == 'failed' and late else complaint}",
        id=verdict.entry.id,
        code=codes,
        rank=verdict.rank or "-",
        first=verdict.ranked[0][0] if verdict.ranked else "-",
        ids=", ".join(() if spec is None else spec.shows),
        wanted="" if spec is None else spec.next,
        next=verdict.next or "-",
    )


def _came_out(page: Page, shown: Shown, meanings: Meanings, say: Say) -> None:
    """Add what the entry said would come out and did."""
    seen = {o.id: o for o in shown.verdict.diagnosis.evidence.observations if o.present}
    chosen = [seen[name] for name in shown.verdict.shown][:_SHOWN]
    if chosen:
        page.heading(say("repro.came-out"))
    for observation in chosen:
        page.item("-", meanings.seen(observation, say))
        for quote in observation.quotes[:1]:
            _quote(page, quote, say)


def _found(page: Page, shown: Shown, meanings: Meanings, say: Say) -> None:
    """Add what was found in the artifacts of a run that should hold nothing."""
    seen = {o.id: o for o in said(shown.verdict.diagnosis)}
    for observation in [seen[name] for name in shown.verdict.shown]:
        page.item("-", meanings.seen(observation, say))
        for quote in observation.quotes[:1]:
            _quote(page, quote, say)


def _quote(page: Page, quote: Quote, say: Say) -> None:
    place = clean(Path(quote.path).name if quote.path else "")
    if quote.line is not None:
        place = f"{place}:{quote.line}"
    if quote.rank is not None:
        place = f"{place} {say('probe.rank', rank=quote.rank)}".strip()
    if place:
        page.line(place, "    ", "faint")
    page.quote(readable(quote.text), "    ")


def _answer(page: Page, verdict: ReproVerdict, say: Say) -> None:
    """Add what the diagnosis of the artifacts alone is."""
    page.heading(say("repro.alone"))
    first = verdict.ranked[0] if verdict.ranked else ("-", 0.0)
    told = answer(verdict.diagnosis)
    total = verdict.diagnosis.other if told == "unknown" else first[1]
    page.paragraph(say(f"verdict.{told}", id=first[0], percent=percent(total)))
    titles = {ranked.entry.id: ranked.entry.title for ranked in verdict.diagnosis.causes}
    shown = [pair for place, pair in enumerate(verdict.ranked) if place < _RANKED or pair[0] == verdict.entry.id]
    for place, (name, probability) in enumerate(verdict.ranked, 1):
        if (name, probability) in shown:
            title = say("report.with-probability", title=say.text(titles[name]), percent=percent(probability))
            page.item(f"{place}. {name} ", title, role="good" if name == verdict.entry.id else None)
    if verdict.diagnosis.fix is not None and verdict.diagnosis.verdict == "named":
        page.heading(say("report.next.fix"))
        page.paragraph(say.text(verdict.diagnosis.fix.title))
    elif verdict.diagnosis.next is not None and verdict.diagnosis.next.step is not None:
        step = verdict.diagnosis.next.step
        page.heading(say(f"report.next.{step.kind}"))
        page.paragraph(say.text(step.text))


def _more(page: Page, shown: Shown, kept: Path | None) -> None:
    """Add the commands that go on from here."""
    identity = shown.verdict.entry.id
    page.blank()
    if kept is not None:
        page.command(f"distkb diagnose {kept}")
    if shown.run is not None:
        page.command(f"distkb repro run {identity} --fixed")
    page.command(f"distkb show {identity}")
