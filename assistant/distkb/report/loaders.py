"""The screen of `distkb probe loader`: one row for the ranks whose loaders are alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from distkb.evidence.text.ranks import listed
from distkb.locale import Say
from distkb.report.layout import clean, cut, pad, width
from distkb.report.page import Ink, Page, plain

_ROWS = 16
_WIDEST = 24
_COLUMNS = ("rank", "batches", "batch-size", "samples", "distinct", "sampler")


def write(facts: Mapping[str, Any], say: Say, columns: int = 80, ink: Ink = plain) -> str:
    """Return the table for the facts of the probe; empty where no loader was described."""
    rows = _rows(facts, say)
    if not rows:
        return ""
    page = Page(columns, ink)
    page.heading(say("probe.loader.table", world=facts.get("ranks_checked", len(rows))))
    heads = [say(f"probe.loader.column.{name}") for name in _COLUMNS]
    table = [heads, *rows[:_ROWS]]
    rooms = [min(_WIDEST, max(width(row[index]) for row in table)) for index in range(len(heads))]
    for number, row in enumerate(table):
        text = "  ".join(pad(cut(cell, room), room) for cell, room in zip(row, rooms, strict=True)).rstrip()
        page.line(cut(text, columns - 4), "    ", None if number else "faint")
    if len(rows) > _ROWS:
        page.paragraph(say("probe.loader.more", n=len(rows) - _ROWS), "    ", "faint")
    return page.text()


def _rows(facts: Mapping[str, Any], say: Say) -> list[list[str]]:
    alike: dict[tuple[str, ...], list[int]] = {}
    for row in facts.get("ranks") or ():
        epoch = row["epochs"][0]
        batches = str(epoch["batches"]) if epoch["complete"] else say("probe.loader.at-least", n=epoch["batches"])
        sampler = clean(str(row["sampler"] or row["dataset"]))
        cells = (batches, str(epoch["largest"]), str(epoch["samples"]), str(row["distinct"]), sampler)
        alike.setdefault(cells, []).append(row["rank"])
    return [[listed(ranks), *cells] for cells, ranks in alike.items()]
