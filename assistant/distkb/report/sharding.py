"""The screen of `distkb probe fsdp --model`: what each rank would hold, by strategy, and what the units are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from distkb.locale import Say
from distkb.report.layout import clean, cut, pad, right, width
from distkb.report.page import Ink, Page, Role, plain

_FIGURES = 9
"""Columns of one figure: `12345.67`."""
_UNITS_SHOWN = 8
_SCALES = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))


def write(facts: Mapping[str, Any], say: Say, columns: int = 80, ink: Ink = plain) -> str:
    """Return the screen for the facts of the probe; empty where it did not come as far as counting."""
    if "per_rank" not in facts:
        return ""
    page = Page(columns, ink)
    page.title(_verdict(facts, say))
    _model(page, facts, say)
    _strategies(page, facts, say)
    _units(page, facts, say)
    _notes(page, facts, say)
    return page.text()


def _verdict(facts: Mapping[str, Any], say: Say) -> str:
    """Say in one sentence whether the strategy asked for fits, or what it needs where no memory was given."""
    chosen = str(facts["strategy"])
    values = {
        "strategy": _strategy(facts, chosen, say),
        "ranks": facts["world_size"],
        "need": size(facts["per_rank"][chosen]["peak"]),
    }
    if not facts.get("fits"):
        return say("probe.fsdp.needs", **values)
    key = "probe.fsdp.fits" if facts["fits"].get(chosen) else "probe.fsdp.does-not-fit"
    return say(key, memory=size(facts["gpu_memory_bytes"]), **values)


def _model(page: Page, facts: Mapping[str, Any], say: Say) -> None:
    model = facts["model"]
    dtypes = ", ".join(f"{clean(name)} {size(count)}" for name, count in model["bytes_by_dtype"].items())
    page.paragraph(
        say("probe.fsdp.model", parameters=number(model["parameters"]), dtypes=dtypes),
    )
    if model["trainable"] != model["parameters"]:
        page.paragraph(say("probe.fsdp.trainable", trainable=number(model["trainable"])))


def _strategies(page: Page, facts: Mapping[str, Any], say: Say) -> None:
    """Add one row a strategy: what it holds between steps, and at the busiest moment, in GiB."""
    rows: Mapping[str, Mapping[str, int]] = facts["per_rank"]
    fits: Mapping[str, bool] = facts.get("fits") or {}
    names = {name: _strategy(facts, name, say) for name in rows}
    heads = [say(f"probe.fsdp.column.{name}") for name in ("params", "grads", "optimizer", "working", "peak")]
    figures = max(_FIGURES, *(width(head) + 1 for head in heads))
    room = max(12, page.columns - 4 - figures * len(heads))
    first = min(room, max(width(name) for name in names.values()))
    unit, factor = _scale(rows)
    page.heading(say("probe.fsdp.strategies", unit=unit))
    page.line(pad("", first + 2) + "".join(right(head, figures) for head in heads), "", "faint")
    for name, row in rows.items():
        mark = "" if name not in fits else " ✓" if fits[name] else " ✗"
        role: Role | None = None if not mark else "good" if fits[name] else "bad"
        arrow = "▸ " if name == facts["strategy"] else "  "
        cells = "".join(
            right(figure(row[key], factor), figures) for key in ("params", "grads", "optimizer", "working", "peak")
        )
        page.line(f"{arrow}{pad(cut(names[name], first), first)}{cells}{mark}", "", role)
    page.paragraph(say("probe.fsdp.not-counted"), role="faint")


def _units(page: Page, facts: Mapping[str, Any], say: Say) -> None:
    """Add the units, alike ones together, the largest first after the root."""
    groups: Sequence[Mapping[str, Any]] = facts.get("unit_groups") or ()
    page.heading(say("probe.fsdp.units"))
    ordered = sorted(groups, key=lambda group: (not group["root"], -group["all_gather_bytes"]))
    for group in ordered[:_UNITS_SHOWN]:
        key = "probe.fsdp.unit.root" if group["root"] and group["count"] == 1 else "probe.fsdp.unit"
        gathered = size(group["all_gather_bytes"])
        page.item("-", say(key, n=group["count"], name=clean(str(group["class"])), size=gathered))
    if len(ordered) > _UNITS_SHOWN:
        left = sum(group["count"] for group in ordered[_UNITS_SHOWN:])
        page.item("-", say("probe.fsdp.unit.more", n=left))
    if not groups:
        page.item("-", say("probe.fsdp.unit.none"))


def _notes(page: Page, facts: Mapping[str, Any], say: Say) -> None:
    lines = list(_notes_of(facts, say))
    if lines:
        page.heading(say("probe.fsdp.notes"))
    for line in lines:
        page.item("-", line)


def _notes_of(facts: Mapping[str, Any], say: Say) -> list[str]:
    lines = []
    if facts.get("api") == "none":
        wrapped = ", ".join(clean(str(name)) for name in facts.get("wrapped_by_probe") or ())
        lines.append(say("probe.fsdp.note.wrapped", classes=wrapped) if wrapped else say("probe.fsdp.note.no-blocks"))
        if wrapped:
            whole = size(facts["all_gather_without_wrapping_bytes"])
            lines.append(say("probe.fsdp.note.without", size=whole, now=size(facts["largest_all_gather_bytes"])))
    for name in ("frozen", "unmanaged", "ignored"):
        listed = facts.get(name) or {}
        if listed.get("count"):
            key = f"probe.fsdp.note.{name}"
            shown = ", ".join(clean(str(item)) for item in listed["names"][:3])
            lines.append(say.count(key, listed["count"], parameters=number(listed["numel"]), names=shown))
    tied = facts["model"].get("tied") or ()
    lines += [say("probe.fsdp.note.tied", names=", ".join(clean(str(name)) for name in group)) for group in tied[:3]]
    return lines


def _strategy(facts: Mapping[str, Any], name: str, say: Say) -> str:
    """Return the name of a strategy for people; `built` is marked as the model's own."""
    shown = clean(str((facts.get("strategy_names") or {}).get(name, name)))
    return say("probe.fsdp.strategy.built", name=shown) if name == "built" else shown


def _scale(rows: Mapping[str, Mapping[str, int]]) -> tuple[str, int]:
    """Return the unit of the whole table: the largest that some figure reaches, else KiB."""
    largest = max(row["peak"] for row in rows.values())
    return next(((unit, factor) for unit, factor in _SCALES if largest >= factor), _SCALES[-1])


def figure(count: int, factor: int) -> str:
    """Return bytes in units of `factor` with two decimals; what is there but rounds to nothing is `<0.01`."""
    value = count / factor
    return "<0.01" if 0 < value < 0.005 else f"{value:.2f}"


def size(count: int) -> str:
    """Return bytes in the binary unit that people read: `24.1 GiB`."""
    for unit, factor in (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} B"


def number(count: int) -> str:
    """Return a count of parameters as people say it: `70.6B`, `124M`, `9,874`."""
    for letter, factor in (("B", 10**9), ("M", 10**6)):
        if count >= factor:
            return f"{count / factor:.3g}{letter}" if count < 1000 * factor else f"{count / factor:.0f}{letter}"
    return f"{count:,}"
