"""The timers of a run for people: what ran out by the log, then every timer with its time and what moves it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from distkb.report.layout import clean, cut, width
from distkb.report.page import Ink, Page, plain

if TYPE_CHECKING:
    from distkb.locale import Say
    from distkb.settings.timeouts import Origin, TimerReading

_ORDER = ("torch.pg", "accelerate", "transformers", "deepspeed", "lightning", "torch.monitored", "torch.nccl")
_LATER = ("torch.store", "torch.rendezvous", "torchrun", "slurm", "nccl", "dataloader")
"""Beginnings of ids in the order of interest: the limits of collectives, then what surrounds them."""
_VALUE_SHOWN = 40
_FIRED: dict[Origin, str] = {
    "this": "timer.fired.this",
    "shared": "timer.fired.shared",
    "other": "timer.fired.other",
    "unsaid": "timer.fired.unsaid",
}


def write(readings: Sequence[TimerReading], say: Say, *, columns: int = 80, ink: Ink = plain) -> str:
    """Return the timers as text of `columns` display columns."""
    page = Page(columns, ink)
    page.title(say("timer.title"))
    if not readings:
        page.paragraph(say("timer.none"))
        return page.text()
    _fired(page, readings, say)
    idle = _idle(readings)
    if idle:
        page.blank()
        page.item("!", say.count("timer.idle", len(idle), names=", ".join(idle)), "  ", "bad")
    column = max(width(amount(reading.seconds, say)) for reading in readings)
    page.blank()
    for reading in sorted(readings, key=_place):
        _reading(page, reading, say, column, idle)
    page.blank()
    page.paragraph(say("timer.read-more"), "", "faint")
    return page.text()


def amount(seconds: float | None, say: Say) -> str:
    """Return a duration in the largest unit that keeps it exact: `10 min`, `59.5 s`, `no limit` for 0."""
    if seconds is None:
        return say("timer.amount.unknown")
    if seconds == 0:
        return say("timer.amount.never")
    for key, length in (("timer.amount.days", 86400), ("timer.amount.hours", 3600), ("timer.amount.minutes", 60)):
        if seconds >= 2 * length and seconds % length == 0:
            return say(key, n=f"{seconds / length:g}")
    if seconds % 60 == 0:
        return say("timer.amount.minutes", n=f"{seconds / 60:g}")
    return say("timer.amount.seconds", n=f"{seconds:.4g}" if seconds < 1000 else f"{seconds:.0f}")


def _idle(readings: Sequence[TimerReading]) -> list[str]:
    """Return the names that are set here in the hope of moving a timer, and move none."""
    moving = {name for reading in readings for name in reading.knob_names}
    tried = dict.fromkeys(name for reading in readings for name in reading.ineffective)
    return [name for name in tried if name not in moving]


def _place(reading: TimerReading) -> int:
    order = (*_ORDER, *_LATER)
    identity = reading.timer.id
    return next((place for place, start in enumerate(order) if identity.startswith(start)), len(order))


def _fired(page: Page, readings: Sequence[TimerReading], say: Say) -> None:
    told: set[str] = set()
    for reading in sorted(readings, key=_place):
        fired = reading.fired
        if fired is None or fired.observation in told:
            continue
        if not told:
            page.heading(say("timer.fired"))
        told.add(fired.observation)
        title = say.text(reading.timer.title)
        page.item("!", say(_FIRED[fired.origin], amount=amount(fired.seconds, say), title=title), "  ", "bad")
        if fired.quote is not None:
            page.quote(fired.quote.text, "    ")
        if fired.origin == "shared":
            for other in sorted(readings, key=_place):
                if other.fired is not None and other.fired.observation == fired.observation:
                    page.item("-", say.text(other.timer.title), "    ")
        for knob in fired.missed:
            page.paragraph(say("timer.fired.missed", knob=knob), "    ")
        page.paragraph(say.text(reading.timer.ends), "    ")


def _reading(page: Page, reading: TimerReading, say: Say, column: int, idle: Sequence[str]) -> None:
    page.row([(amount(reading.seconds, say), column)], say.text(reading.timer.title))
    indent = " " * (column + 2)
    facts = [*_conditions(reading, say), _source(reading, say), *_knobs(reading, say)]
    page.paragraph(" · ".join(facts), indent, "faint")
    without_effect = [name for name in reading.ineffective if name not in idle]
    if without_effect:
        page.paragraph(say("timer.ineffective", names=", ".join(without_effect)), indent, "bad")


def _conditions(reading: TimerReading, say: Say) -> list[str]:
    found = dict(condition.split("=", 1) for condition in reading.timer.when)
    told = []
    if "framework" in found:
        told.append(say("timer.if-used", framework=found["framework"]))
    if "rendezvous" in found:
        told.append(say("timer.if-rendezvous", backend=found["rendezvous"]))
    return told


def _source(reading: TimerReading, say: Say) -> str:
    if reading.knob is not None:
        value = cut(clean(reading.value or ""), _VALUE_SHOWN)
        key = "timer.knob" if reading.seconds is not None else "timer.knob-unreadable"
        return say(key, knob=reading.knob_name, value=value)
    if reading.default is None:
        return say("timer.unknown")
    return say("timer.assumed", component=reading.default.component) if reading.assumed else say("timer.default")


def _knobs(reading: TimerReading, say: Say) -> list[str]:
    if not reading.knobs:
        return [say("timer.no-knob")]
    others = [name for name in reading.knob_names if name != reading.knob_name]
    return [say("timer.knobs", names=", ".join(others))] if others else []
