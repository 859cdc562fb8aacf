"""The answer of a probe: a quiet screen where nothing is wrong, and the document `distkb.probe/1`."""

from __future__ import annotations

import re
import shlex
from typing import Any

from distkb.catalogue.model import Text
from distkb.evidence.observation import Quote
from distkb.locale import LANGUAGES, Language, Say
from distkb.probing.document import SCHEMA, ProbeAnswer, Reported
from distkb.report.json import encode
from distkb.report.layout import clean
from distkb.report.meaning import put_in
from distkb.report.page import Ink, Page, Role, plain

_MARKS: dict[str, tuple[str, Role]] = {"error": ("✗", "bad"), "warning": ("!", "label"), "note": ("·", "faint")}
_QUOTES_SHOWN = 4
_PLAIN_WORDS = re.compile(r"[\w@%+=:,./ -]*", re.ASCII)


def sentence(reported: Reported, lang: Language) -> str:
    """Return the finding's sentence with the values of this case put in."""
    return _filled(reported.finding.says or reported.finding.means, reported, lang)


def remedy(reported: Reported, lang: Language) -> str | None:
    """Return what repairs the finding, with its values put in."""
    return None if reported.finding.fix is None else _filled(reported.finding.fix, reported, lang)


def commands(reported: Reported) -> list[str]:
    """Return the commands that repair it: those made from what was read, and the finding's with its values put in."""
    values = {name: quoted(value) for name, value in reported.observation.values.items()}
    return [*reported.observation.commands, *(put_in(command, values) for command in reported.finding.commands)]


def quoted(value: str) -> str:
    """Return a value as it can stand in a command to copy: what a shell would interpret is quoted.

    Plain words, and what is one quoted word already, stay as they are.
    """
    if _PLAIN_WORDS.fullmatch(value):
        return value
    try:
        words = shlex.split(value)
    except ValueError:
        words = []
    return value if len(words) == 1 and shlex.quote(words[0]) == value else shlex.quote(value)


def _filled(text: Text, reported: Reported, lang: Language) -> str:
    return put_in(text.ko if lang == "ko" else text.en, reported.observation.values)


def write(answer: ProbeAnswer, say: Say, *, columns: int = 80, ink: Ink = plain, body: str = "") -> str:
    """Return the screen: the verdict, every finding with its evidence and repair, then `body` as it is."""
    page = Page(columns, ink)
    page.title(_verdict(answer, say))
    for reported in answer.reported:
        _finding(page, reported, say)
    text = page.text()
    return f"{text}\n{body}" if body else text


def _verdict(answer: ProbeAnswer, say: Say) -> str:
    if answer.status in ("skipped", "error"):
        key = f"probe.reason.{answer.reason}"
        reason = say(
            key if say.knows(key) else "probe.reason.other", detail=clean(answer.detail or answer.reason or "")
        )
        return say(f"probe.verdict.{answer.status}", probe=answer.probe, reason=reason)
    if answer.status == "ok":
        return say("probe.verdict.ok", probe=answer.probe, seconds=f"{answer.elapsed_s:.1f}")
    n = sum(1 for reported in answer.reported if reported.finding.severity in ("error", "warning"))
    return say.count("probe.verdict.findings", n, probe=answer.probe)


def _finding(page: Page, reported: Reported, say: Say) -> None:
    mark, role = _MARKS.get(reported.finding.severity or "note", _MARKS["note"])
    page.blank()
    entry = reported.finding.entry
    text = sentence(reported, say.lang) + (f"  [{entry}]" if entry else "")
    page.item(mark, text, "", role)
    for quote in reported.observation.quotes[:_QUOTES_SHOWN]:
        _quote(page, quote, say)
    left = len(reported.observation.quotes) - _QUOTES_SHOWN
    if left > 0:
        page.paragraph(say("probe.more-quotes", n=left), "    ", "faint")
    repair = remedy(reported, say.lang)
    if repair:
        page.paragraph(say("probe.fix", fix=repair), "    ")
    for command in commands(reported):
        page.command(command, "    ")


def _quote(page: Page, quote: Quote, say: Say) -> None:
    place = clean(quote.path or "")
    if quote.line is not None:
        place = f"{place}:{quote.line}"
    if quote.rank is not None:
        rank = say("probe.rank", rank=quote.rank)
        place = f"{place} {rank}".strip()
    if place:
        page.line(place, "    ", "faint")
    page.quote(quote.text, "    ")


def document(answer: ProbeAnswer) -> dict[str, Any]:
    """Return the answer as plain data."""
    return {
        "schema": SCHEMA,
        "probe": answer.probe,
        "status": answer.status,
        "reason": answer.reason,
        "detail": clean(answer.detail),
        "findings": [_finding_document(reported) for reported in answer.reported],
        "clear": [o.id for o in answer.observations if not o.present],
        "facts": answer.facts,
        "interpreter": None
        if answer.interpreter is None
        else {"path": answer.interpreter[0], "why": answer.interpreter[1]},
        "elapsed_s": round(answer.elapsed_s, 3),
    }


def write_json(answer: ProbeAnswer) -> str:
    """Return the document `distkb.probe/1`."""
    return encode(document(answer))


def _finding_document(reported: Reported) -> dict[str, Any]:
    quotes = reported.observation.quotes
    return {
        "id": reported.finding.id,
        "severity": reported.finding.severity or "note",
        "text": {lang: sentence(reported, lang) for lang in LANGUAGES},
        "evidence": [
            {"text": clean(q.text), "path": None if q.path is None else clean(q.path), "line": q.line, "rank": q.rank}
            for q in quotes
        ],
        "values": reported.observation.values,
        "entry": reported.finding.entry,
        "fix": None if reported.finding.fix is None else {lang: remedy(reported, lang) for lang in LANGUAGES},
        "commands": commands(reported),
    }
