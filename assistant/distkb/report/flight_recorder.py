"""The tables of `distkb probe flight-recorder`: for each process group, where its ranks stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from distkb.locale import Say
from distkb.report.layout import clean, cut, pad, width
from distkb.report.page import Ink, Page, Role, plain

_GROUPS_SHOWN = 8
_ROWS_SHOWN = 12
_COLUMNS = ("ranks", "seq", "op", "at", "state")
_WIDEST = {"ranks": 24, "seq": 9, "op": 24, "at": 24, "state": 18}
_GAP = "  "


def write(facts: Mapping[str, Any], say: Say, columns: int = 80, ink: Ink = plain) -> str:
    """Return one table for each group, those with problems first; empty where no group was used."""
    groups: Sequence[Mapping[str, Any]] = facts.get("groups") or ()
    if not groups:
        return ""
    page = Page(columns, ink)
    page.paragraph(say("probe.flight-recorder.read", dumps=facts["dumps"], ranks=facts["ranks"], n=facts["entries"]))
    if facts.get("missing"):
        page.paragraph(say("probe.flight-recorder.missing", ranks=facts["missing"]))
    for group in groups[:_GROUPS_SHOWN]:
        _table(page, group, say)
    left = int(facts.get("groups_total", len(groups))) - min(len(groups), _GROUPS_SHOWN)
    if left > 0:
        page.blank()
        page.paragraph(say("probe.flight-recorder.more-groups", n=left), role="faint")
    return page.text()


def _table(page: Page, group: Mapping[str, Any], say: Say) -> None:
    page.heading(say("probe.flight-recorder.group", group=clean(group["group"]), ranks=group["members"]))
    rows = [_cells(row, say) for row in group["rows"][:_ROWS_SHOWN]]
    heads = tuple(say(f"probe.flight-recorder.column.{name}") for name in _COLUMNS)
    widths = [min(_WIDEST[name], max(width(cells[i]) for cells in (heads, *rows))) for i, name in enumerate(_COLUMNS)]
    over = sum(widths) + 2 + len(_GAP) * (len(widths) - 1) - page.columns
    for i in (0, 3, 2):
        taken = max(0, min(over, widths[i] - 8))
        widths[i] -= taken
        over -= taken
    page.line(_row(heads, widths), "  ", "faint")
    for row, cells in zip(group["rows"], rows, strict=False):
        page.line(_row(cells, widths), "  ", _role(row["state"]))
    left = len(group["rows"]) - len(rows)
    if left > 0:
        page.paragraph(say("probe.flight-recorder.more-rows", n=left), role="faint")


def _cells(row: Mapping[str, Any], say: Say) -> tuple[str, ...]:
    seq = "" if row["seq"] is None else f"#{row['seq']}"
    state = say(f"probe.flight-recorder.state.{row['state']}")
    return row["ranks"], seq, clean(row["op"]), clean(row["at"]), state


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    return _GAP.join(pad(cut(cell, room), room) for cell, room in zip(cells, widths, strict=True)).rstrip()


def _role(state: str) -> Role | None:
    return "bad" if state in ("no-dump", "no-call") else "faint" if state == "completed" else None
