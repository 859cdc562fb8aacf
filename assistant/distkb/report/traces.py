"""The screen of `distkb probe trace`: where each rank stands, the odd ones first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from distkb.evidence.text.ranks import listed
from distkb.locale import Say
from distkb.report.layout import clean, cut, pad, width
from distkb.report.page import Ink, Page, Role, plain

_ROWS = 24
"""Rows shown; ranks that stand alike share one."""
_RANKS = 18
"""Columns of the list of ranks at most."""
_ROLES: dict[str, Role] = {"failed": "bad", "missing": "bad", "ended": "good"}


def write(facts: Mapping[str, Any], say: Say, columns: int = 80, ink: Ink = plain) -> str:
    """Return the table for the facts of the reader; empty where no rank was seen."""
    rows = _rows(facts)
    if not rows:
        return ""
    page = Page(columns, ink)
    page.heading(say("probe.trace.table", n=len(facts["ranks"]), world=facts.get("world") or "?"))
    cells = [
        (mark, listed(ranks), number, name, time, say(f"probe.trace.state.{state}"), state)
        for mark, ranks, number, name, time, state in rows[:_ROWS]
    ]
    heads = [say(f"probe.trace.column.{name}") for name in ("ranks", "number", "last", "time", "state")]
    first = min(_RANKS, max(width(heads[0]), *(width(cell[1]) for cell in cells)))
    second = max(width(heads[1]), *(width(cell[2]) for cell in cells))
    clock = max(width(heads[3]), *(width(cell[4]) for cell in cells))
    state_room = max(width(heads[4]), *(width(cell[5]) for cell in cells))
    room = max(12, columns - 4 - first - second - clock - state_room - 8)
    room = min(room, max(width(heads[2]), *(width(cell[3]) for cell in cells)))
    page.line(_line(heads, (first, second, room, clock)), "    ", "faint")
    for mark, ranks, number, name, time, state, kind in cells:
        text = _line((ranks, number, name, time, state), (first, second, room, clock))
        page.line(text, f"  {mark} ", "bad" if mark.strip() else _ROLES.get(kind))
    if len(rows) > _ROWS:
        page.paragraph(say("probe.trace.more", n=len(rows) - _ROWS), "    ", "faint")
    if facts.get("older_traces"):
        page.paragraph(say("probe.trace.older", n=facts["older_traces"]), "    ", "faint")
    return page.text()


def _line(cells: Sequence[str], rooms: Sequence[int]) -> str:
    shown = [pad(cut(cell, room), room) for cell, room in zip(cells, rooms, strict=False)]
    return "  ".join([*shown, cells[-1]]).rstrip()


def _rows(facts: Mapping[str, Any]) -> list[tuple[str, list[int], str, str, str, str]]:
    """Return one row for the ranks that stand alike: mark, ranks, number, checkpoint, time, state."""
    outliers = set(facts.get("outliers") or ())
    merged: dict[tuple[bool, str, str], list[Mapping[str, Any]]] = {}
    for row in facts.get("ranks") or ():
        key = (row["rank"] not in outliers, str(row["state"]), clean(str(row["last"])))
        merged.setdefault(key, []).append(row)
    rows = []
    if facts.get("missing"):
        rows.append(("▸", list(facts["missing"]), "", "-", "", "missing"))
    for (usual, state, last), members in sorted(merged.items(), key=lambda item: (item[0][0], len(item[1]))):
        numbers = {row["number"] for row in members}
        number = f"#{numbers.pop()}" if len(numbers) == 1 and None not in numbers else ""
        latest = max((str(row["time"]) for row in members), default="")
        rows.append((" " if usual else "▸", [row["rank"] for row in members], number, last, latest, state))
    return rows
