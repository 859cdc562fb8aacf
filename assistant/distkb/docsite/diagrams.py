"""Drawings as SVG inside a page: what happened when, which rank waits where, and what each rank keeps.

Colours and fonts come from the site's style sheet by class, so that dark mode and print hold. Nothing is said by colour
alone: shapes differ, words stand beside them, and each drawing carries its content in words as well.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from fractions import Fraction

from distkb.catalogue.incident import Moment
from distkb.catalogue.model import Diagram, Doing
from distkb.locale import Say

WIDTH = 344
"""Width of a drawing in CSS pixels: what a phone of 360 px shows without making it smaller, nearly."""

_LINE, _PAD, _GAP = 17, 9, 14
_HANGUL = 1.75
"""Width of a syllable in Latin letters."""


def plain(text: str) -> str:
    """Return a text without the marks of code."""
    return text.replace("`", "")


def _svg(name: str, width: int, height: int, title: str, told: str, body: Iterable[str]) -> str:
    """Return a drawing that is read out by its title and what it tells."""
    return (
        f'<svg class="drawing" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img"'
        f' aria-labelledby="{name}-t {name}-d"><title id="{name}-t">{html.escape(title)}</title>'
        f'<desc id="{name}-d">{html.escape(told)}</desc>{"".join(body)}</svg>'
    )


def _text(x: float, y: float, text: str, css: str = "", anchor: str = "middle") -> str:
    given = f' class="{css}"' if css else ""
    return f'<text x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}"{given}>{html.escape(text)}</text>'


def _rect(x: float, y: float, width: float, height: float, css: str, corner: int = 4) -> str:
    size = f'width="{_n(width)}" height="{_n(height)}" rx="{corner}"'
    return f'<rect x="{_n(x)}" y="{_n(y)}" {size} class="{css}"/>'


def _path(d: str, css: str) -> str:
    return f'<path d="{d}" class="{css}"/>'


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def when(moment: Moment, say: Say) -> str:
    """Return the time of a moment in words."""
    return say("site.diagram.later") if moment.t is None else say("site.diagram.at", seconds=f"{moment.t:g}")


def who(rank: int | None, say: Say) -> str:
    """Return who a moment is about, in words."""
    return say("site.diagram.all") if rank is None else say("report.rank", rank=rank)


def timeline(name: str, moments: Sequence[Moment], ranks: int, differs: int | None, title: str, say: Say) -> str:
    """Return the course of events: a lane for each rank, time downwards, each event a number that the list explains.

    Events of the rank that differs are diamonds, those of the others circles, and those of all ranks bars.
    """
    lanes = sorted({*range(min(ranks, 2)), *(m.rank for m in moments if m.rank is not None)})
    left, top, row = 72, 56, 44
    lane = (WIDTH - left) / len(lanes)
    centre = {rank: left + lane * (place + 0.5) for place, rank in enumerate(lanes)}
    bottom = top + row * len(moments)
    body = []
    for rank in lanes:
        other = " differs" if rank == differs else ""
        body.append(_text(centre[rank], 20, who(rank, say), "head"))
        if other:
            body.append(_text(centre[rank], 37, say("site.diagram.differs"), "word differs"))
        body.append(_path(f"M{_n(centre[rank])} {top - 8}V{bottom}", f"lane{other}"))
    for place, moment in enumerate(moments):
        y = top + row * (place + 0.5)
        if place == 0 or moment.t != moments[place - 1].t:
            body.append(_text(left - 12, y + 4, when(moment, say), "time", "end"))
        number = str(place + 1)
        if moment.rank is None:
            body.append(
                _rect(centre[lanes[0]] - 16, y - 12, centre[lanes[-1]] - centre[lanes[0]] + 32, 24, "event", 12)
            )
            body.append(_text((centre[lanes[0]] + centre[lanes[-1]]) / 2, y + 4, number, "number"))
            continue
        x = centre[moment.rank]
        if moment.rank == differs:
            body.append(_path(f"M{_n(x)} {_n(y - 16)}l16 16l-16 16l-16 -16z", "event differs"))
        else:
            body.append(f'<circle cx="{_n(x)}" cy="{_n(y)}" r="13" class="event"/>')
        body.append(_text(x, y + 4, number, "number"))
    told = " ".join(
        f"{n}. {when(m, say)}, {who(m.rank, say)}: {plain(say.text(m.what))}" for n, m in enumerate(moments, 1)
    )
    if differs is not None:
        told = f"{say('site.diagram.differs.told', rank=who(differs, say))} {told}"
    return _svg(name, WIDTH, bottom + 4, title, told, body)


def drawing(name: str, diagram: Diagram, say: Say) -> str:
    """Return what an entry wants drawn."""
    return keeps(name, say) if diagram.kind == "keeps" else waits(name, diagram, say)


def waits(name: str, diagram: Diagram, say: Say) -> str:
    """Return which rank waits where: a column for each lane, and downwards what its ranks do one after another."""
    count = len(diagram.lanes)
    width = WIDTH if count < 3 else 172 * count
    lane = (width - _GAP * (count - 1)) / count
    room = (lane - 2 * _PAD) / 7.3
    rows = max((len(one.does) for one in diagram.lanes), default=0)
    body = [_text((lane + _GAP) * n + lane / 2, 18, say.text(one.ranks), "head") for n, one in enumerate(diagram.lanes)]
    y = 32.0
    for number in range(rows):
        cells = [(n, one.does[number]) for n, one in enumerate(diagram.lanes) if number < len(one.does)]
        height = max(_height(doing, room, say) for _, doing in cells)
        for n, doing in cells:
            x = (lane + _GAP) * n
            if number:
                body.append(_path(f"M{_n(x + lane / 2)} {_n(y - _GAP)}v{_GAP}", "lane"))
            body += _box(x, y, lane, height, doing, room, say)
        y += height + _GAP
    told = " ".join(f"{say.text(one.ranks)}: {_told(one.does, say)}." for one in diagram.lanes)
    return _svg(name, width, round(y - _GAP + 2), plain(say.text(diagram.says)), told, body)


def _told(does: Iterable[Doing], say: Say) -> str:
    return "; ".join(
        plain(say.text(one.what)) + ("" if one.state == "runs" else f" ({say(f'site.diagram.{one.state}')})")
        for one in does
    )


def _height(doing: Doing, room: float, say: Say) -> float:
    lines = len(wrapped(say.text(doing.what), room)) + (doing.state != "runs")
    return lines * _LINE + 2 * _PAD - 3


_SIGNS = {"waits": "‖", "missing": "×", "gone": "■"}


def _box(x: float, y: float, width: float, height: float, doing: Doing, room: float, say: Say) -> list[str]:
    """Return one box with its lines; what is no plain step has its sign and word below."""
    body = [_rect(x + 1, y, width - 2, height, f"box {doing.state}")]
    lines = wrapped(say.text(doing.what), room)
    marked = doing.state != "runs"
    top = y + (height - (len(lines) + marked) * _LINE) / 2 + 13
    for n, line in enumerate(lines):
        body.append(_coded(x + width / 2, top + n * _LINE, line))
    if marked:
        word = f"{_SIGNS[doing.state]} {say(f'site.diagram.{doing.state}')}"
        body.append(_text(x + width / 2, top + len(lines) * _LINE, word, f"word {doing.state}"))
    return body


def _coded(x: float, y: float, line: str) -> str:
    """Return a line whose parts between backticks are code."""
    parts = [part for part in enumerate(line.split("`")) if part[1]]
    inside = "".join(
        f'<tspan class="code">{html.escape(part)}</tspan>' if number % 2 else html.escape(part)
        for number, part in parts
    )
    return f'<text x="{_n(x)}" y="{_n(y)}" text-anchor="middle">{inside}</text>'


def wrapped(text: str, room: float) -> list[str]:
    """Return a text in lines of at most `room` Latin letters, broken between words; code goes on over a break."""
    lines: list[str] = []
    line, code = "", False
    for word in text.split():
        longer = f"{line} {word}".strip()
        if line.strip("`") and _wide(longer) > room:
            lines.append(line + ("`" if code else ""))
            line = ("`" if code else "") + word
        else:
            line = longer
        code ^= word.count("`") % 2 == 1
    return [*lines, line] if line else lines


def _wide(text: str) -> float:
    return sum(_HANGUL if "\u1100" <= sign <= "\ud7a3" else 1.0 for sign in plain(text))


KEPT: tuple[tuple[str, str, tuple[Fraction, Fraction, Fraction]], ...] = (
    ("DDP", "", (Fraction(1), Fraction(1), Fraction(1))),
    ("ZeRO-1", "", (Fraction(1), Fraction(1), Fraction(1, 4))),
    ("ZeRO-2", "", (Fraction(1), Fraction(1, 4), Fraction(1, 4))),
    ("ZeRO-3", "full", (Fraction(1, 4), Fraction(1, 4), Fraction(1, 4))),
    ("FSDP hybrid", "hybrid", (Fraction(1, 2), Fraction(1, 2), Fraction(1, 2))),
)
"""Strategy, key of what is said below it, and the share of parameters, gradients and optimizer state that each keeps
of four ranks, two on each of two machines."""
PARTS = ("parameters", "gradients", "optimizer")


def keeps(name: str, say: Say) -> str:
    """Return what each of four ranks keeps under each strategy: vessels that are filled as far as the rank's share."""
    left, top, row, cell = 92, 44, 58, 84
    size, gap = 16, 2
    body = [
        _text(left + cell * (n + 0.5), 20, say(f"site.diagram.keeps.{part}"), "head") for n, part in enumerate(PARTS)
    ]
    told = []
    for place, (strategy, below, shares) in enumerate(KEPT):
        y = top + row * place
        more = say(f"site.diagram.keeps.{below}") if below else ""
        body.append(_text(0, y + 12, strategy, "head", "start"))
        if more:
            body.append(_text(0, y + 27, more, "time", "start"))
        words = []
        for n, (part, share) in enumerate(zip(PARTS, shares, strict=True)):
            x = left + cell * n + (cell - 4 * size - 3 * gap) / 2
            for rank in range(4):
                at, full = x + rank * (size + gap), 24 * share.numerator / share.denominator
                body.append(_rect(at, y, size, 24, "vessel", 1))
                body.append(_rect(at, y + 24 - full, size, full, "whole" if share == 1 else "share", 1))
            word = say("site.diagram.keeps.whole") if share == 1 else f"{share.numerator}/{share.denominator}"
            body.append(_text(left + cell * (n + 0.5), y + 40, word, "word"))
            words.append(f"{say(f'site.diagram.keeps.{part}')} {word}")
        told.append(f"{strategy}{f' ({more})' if more else ''}: {', '.join(words)}.")
    return _svg(name, WIDTH, top + row * len(KEPT), say("site.diagram.keeps.title"), " ".join(told), body)
