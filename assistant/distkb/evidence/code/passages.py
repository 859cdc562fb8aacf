"""The scripts as passages to read: around the places where ranks stood or failed, and as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from distkb.evidence.code.near import with_near
from distkb.evidence.code.spots import script_of, spot_of
from distkb.evidence.observation import Closeup, Passage, PassageLine
from distkb.evidence.readers.stacks.model import Frame
from distkb.evidence.text.clean import mask_lines, quote_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from distkb.evidence.readers.scripts.project import Project
    from distkb.evidence.readers.scripts.source import Script
    from distkb.evidence.run.derive import Derived

ABOVE, BELOW = 6, 3
"""Lines around a place where somebody stood."""
FRAMES = 3
"""Innermost calls of the user's of which the code is shown."""
MOST_SCRIPTS, MOST_ROWS = 20, 600


def with_code(result: Derived, project: Project | None, near: Sequence[Path]) -> Closeup | None:
    """Return the run seen from near with the scripts that were given, or those near by that the frames name."""
    standing: dict[Frame, set[int]] = {}
    for place in result.places:
        for frame in place.frames[-FRAMES:]:
            standing.setdefault(frame, set()).update(() if place.rank is None else (place.rank,))
    for event in result.timeline.events:
        for raised in event.frames[-FRAMES:]:
            frame = Frame(raised.function, raised.path, raised.line, raised.source)
            standing.setdefault(frame, set()).update(() if event.rank is None else (event.rank,))
    project, _ = with_near(project, standing, near)
    seen = result.closeup
    if project is None or seen is None:
        return seen
    return msgspec.structs.replace(seen, code=_around(project, standing), scripts=_whole(project))


def _around(project: Project, standing: Mapping[Frame, Collection[int]]) -> tuple[Passage, ...]:
    """Return the lines around places, and those that the statements around them begin with, by file."""
    ranks: dict[Script, dict[int, tuple[int, ...]]] = {}
    wanted: dict[Script, set[int]] = {}
    for frame, who in standing.items():
        script = script_of(project, frame.path)
        spot = spot_of(project, frame) if script is not None else None
        if script is None or spot is None:
            continue
        there = ranks.setdefault(script, {})
        there[frame.line] = tuple(sorted({*there.get(frame.line, ()), *who}))
        around = {spot.function.node.lineno} if hasattr(spot.function.node, "lineno") else set()
        around |= {arm.node.lineno for arm in spot.arms}
        wanted.setdefault(script, set()).update(around, range(frame.line - ABOVE, frame.line + BELOW + 1))
    return tuple(_passage(script, lines, ranks.get(script, {})) for script, lines in wanted.items())


def _whole(project: Project) -> tuple[Passage, ...]:
    """Return all lines of the scripts that say something, as many as anybody would read."""
    return tuple(_passage(s, range(1, MOST_ROWS + 1), {}) for s in project.scripts[:MOST_SCRIPTS])


def _passage(script: Script, lines: Iterable[int], ranks: Mapping[int, tuple[int, ...]]) -> Passage:
    texts = list(mask_lines(script.lines))
    rows = [
        PassageLine(number=number, text=_shown(texts[number - 1]), ranks=ranks.get(number, ()))
        for number in sorted(lines)
        if 0 < number <= len(texts) and texts[number - 1].strip()
    ]
    return Passage(path=script.name, rows=tuple(rows))


def _shown(line: str) -> str:
    """Return a line of code fit to be shown, with its indentation."""
    text = line.expandtabs(4)
    return " " * (len(text) - len(text.lstrip())) + quote_text(text)
