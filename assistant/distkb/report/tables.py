"""Short tables: entries of the catalogue, results of a search, figures of an evaluation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from distkb.catalogue.model import Family, Text
from distkb.locale import Say
from distkb.report.layout import width
from distkb.report.page import Ink, Page, plain


def titles(rows: Iterable[tuple[str, Text]], say: Say, *, columns: int = 80, ink: Ink = plain) -> str:
    """Return ids with their titles, one entry a row; empty for no rows."""
    page = Page(columns, ink)
    chosen = list(rows)
    _rows(page, chosen, say, _column(chosen))
    return page.text() if chosen else ""


def families(rows: Iterable[tuple[Family, str, Text]], say: Say, *, columns: int = 80, ink: Ink = plain) -> str:
    """Return entries as a table with a heading for each family, in the order given."""
    page = Page(columns, ink)
    grouped: dict[Family, list[tuple[str, Text]]] = {}
    for family, identity, title in rows:
        grouped.setdefault(family, []).append((identity, title))
    column = max((_column(members) for members in grouped.values()), default=0)
    for family, members in grouped.items():
        page.heading(say(f"family.{family}"))
        _rows(page, members, say, column, indent="  ")
    return page.text() if grouped else ""


def guides(rows: Iterable[tuple[str, Text]], say: Say, *, columns: int = 80, ink: Ink = plain) -> str:
    """Return the guides under a heading, after a blank line; empty where there are none."""
    chosen = list(rows)
    if not chosen:
        return ""
    page = Page(columns, ink)
    page.heading(say("list.guides"))
    _rows(page, chosen, say, _column(chosen), indent="  ")
    return "\n" + page.text()


def _column(rows: Iterable[tuple[str, Text]]) -> int:
    return max((width(identity) for identity, _ in rows), default=0)


def _rows(page: Page, rows: Iterable[tuple[str, Text]], say: Say, column: int, indent: str = "") -> None:
    for identity, title in rows:
        page.row([(identity, column)], say.text(title), indent)


def figures(values: Mapping[str, Any], *, columns: int = 80) -> str:
    """Return nested figures as one row each, named by their path: `with_facts.ko.top1  0.82`."""
    rows = list(_flat(values))
    column = max((width(name) for name, _ in rows), default=0)
    page = Page(columns)
    for name, value in rows:
        page.row([(name, column)], value)
    return page.text() if rows else ""


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, str]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", f"{value:.3f}" if isinstance(value, float) else str(value)
