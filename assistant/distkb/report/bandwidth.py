"""What a smoke test measured: a table of sizes, and bars of bus bandwidth, for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from distkb.locale import Say
from distkb.report.layout import clean, width
from distkb.report.page import Ink, Page, plain

OPERATIONS = ("all_reduce", "all_gather", "reduce_scatter", "broadcast")
_UNITS = ("B", "KiB", "MiB", "GiB")
_MOST_ROWS = 64


class Point(msgspec.Struct, frozen=True):
    """One measurement, by the definitions of nccl-tests: bytes, microseconds, 1e9 bytes per second."""

    bytes: int
    op: str
    time_us: float
    algbw_gbs: float
    busbw_gbs: float


def write(facts: Mapping[str, Any], say: Say, *, columns: int = 80, ink: Ink = plain) -> str:
    """Return table and bars for the facts of a smoke test; empty where nothing was measured.

    One rank sends nothing, so its times are no bandwidths.
    """
    if facts.get("world_size") == 1:
        return ""
    try:
        points = msgspec.convert(facts.get("sizes") or [], tuple[Point, ...])
    except msgspec.ValidationError:
        return ""
    if not points:
        return ""
    page = Page(columns, ink)
    page.heading(say("probe.allreduce.table", **_setting(facts)))
    _table(page, points, say)
    _bars(page, [point for point in points if point.op == "all_reduce"], say)
    return page.text()


def _setting(facts: Mapping[str, Any]) -> dict[str, str]:
    return {
        "ranks": clean(str(facts.get("world_size") or "?")),
        "hosts": str(len(facts.get("hosts") or ()) or 1),
        "backend": clean(str(facts.get("backend") or "?")),
    }


def _table(page: Page, points: Sequence[Point], say: Say) -> None:
    """All_reduce with its time and both bandwidths, then the bus bandwidth of the other operations."""
    held = {(point.bytes, point.op): point for point in points}
    others = [op for op in OPERATIONS[1:] if any(point.op == op for point in points)]
    heads = [(say("probe.allreduce.size"), 8), (say("probe.allreduce.time"), 9), ("algbw", 6), ("busbw", 6)]
    heads += [(op, max(6, len(op))) for op in others]
    page.line("  ".join(_right(text, columns) for text, columns in heads).rstrip(), role="label")
    for size in sorted({point.bytes for point in points})[:_MOST_ROWS]:
        reduced = held.get((size, "all_reduce"))
        cells = [size_text(size), *_reduced(reduced)]
        cells += [_speed(held.get((size, op))) for op in others]
        row = "  ".join(_right(cell, columns) for cell, (_, columns) in zip(cells, heads, strict=True))
        page.line(row.rstrip())
    page.paragraph(say("probe.allreduce.legend"), role="faint")


def _reduced(point: Point | None) -> tuple[str, str, str]:
    if point is None:
        return "-", "-", "-"
    return time_text(point.time_us), figure(point.algbw_gbs), figure(point.busbw_gbs)


def _speed(point: Point | None) -> str:
    return "-" if point is None else figure(point.busbw_gbs)


def _bars(page: Page, points: Sequence[Point], say: Say) -> None:
    """Show the bus bandwidth of all_reduce by size; the longest bar is the best one."""
    best = max((point.busbw_gbs for point in points), default=0.0)
    if best <= 0.0:
        return
    page.heading(say("probe.allreduce.bars"))
    room = max(10, page.columns - 2 - 8 - 3 - 8)
    for point in sorted(points, key=lambda point: point.bytes)[:_MOST_ROWS]:
        length = round(room * max(0.0, point.busbw_gbs) / best)
        page.line(f"{_right(size_text(point.bytes), 8)} |{'#' * length} {figure(point.busbw_gbs)}")


def _right(text: str, columns: int) -> str:
    return " " * max(0, columns - width(text)) + text


def size_text(size: int) -> str:
    """Return a number of bytes in the largest binary unit that leaves it whole or at least 1: `64 KiB`."""
    value, unit = float(size), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.4g} {_UNITS[unit]}"


def time_text(microseconds: float) -> str:
    """Return a time with three digits: `180 µs`, `1.92 ms`, `2.40 s`."""
    for limit, factor, unit in ((1e3, 1.0, "µs"), (1e6, 1e3, "ms")):
        if microseconds < limit:
            return f"{figure(microseconds / factor)} {unit}"
    return f"{figure(microseconds / 1e6)} s"


def figure(value: float) -> str:
    """Return a number with three digits, at most two of them behind the point."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"
