"""From a frame of a traceback or a dump to the statement in the scripts that were given, with all that is around it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING

import msgspec

from distkb.evidence.readers.scripts.blocks import Arm, parts
from distkb.evidence.readers.stacks.known import is_library
from distkb.evidence.readers.stacks.place import place_of, representative

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from distkb.evidence.readers.scripts.definitions import Function
    from distkb.evidence.readers.scripts.project import Project
    from distkb.evidence.readers.scripts.source import Script
    from distkb.evidence.readers.stacks.group import Standing
    from distkb.evidence.readers.stacks.model import Frame


class Spot(msgspec.Struct, frozen=True, eq=False):
    """One statement of a function."""

    function: Function
    statement: ast.stmt
    arms: tuple[Arm, ...]
    """The constructs around it within the function, outermost first."""

    @property
    def script(self) -> Script:
        """The file that it stands in."""
        return self.function.script

    @property
    def line(self) -> int:
        """1-based line of the statement."""
        return self.statement.lineno


def chain(project: Project, frames: Sequence[Frame]) -> tuple[Spot, ...]:
    """Return the statements of the frames that lie in the scripts, outermost first.

    A frame whose source line is not what the script has there is of another version of it, and is left out.
    """
    found = (spot_of(project, frame) for frame in frames)
    return tuple(spot for spot in found if spot is not None)


def with_sources(project: Project, standing: Iterable[Standing]) -> tuple[Standing, ...]:
    """Return where ranks stand; lines that a dump does not hold are the scripts', and tell what a call does."""
    sourced = cache(lambda frame: _with_source(project, frame))
    found: list[Standing] = []
    for one in standing:
        last = one.dump.snapshots[-1] if one.dump.snapshots else ()
        threads = tuple(msgspec.structs.replace(t, frames=tuple(map(sourced, t.frames))) for t in last)
        if threads == last:
            found.append(one)
            continue
        dump = msgspec.structs.replace(one.dump, snapshots=(*one.dump.snapshots[:-1], threads))
        found.append(msgspec.structs.replace(one, dump=dump, place=place_of(representative(threads))))
    return tuple(found)


def _with_source(project: Project, frame: Frame) -> Frame:
    spot = None if frame.source or is_library(frame.path) else spot_of(project, frame)
    return frame if spot is None else msgspec.structs.replace(frame, source=spot.script.lines[frame.line - 1].strip())


def spot_of(project: Project, frame: Frame) -> Spot | None:
    """Return the statement at which a frame stands; None where no script has it."""
    script = script_of(project, frame.path)
    if script is None or not _fits(script, frame):
        return None
    inside = [f for f in project.functions if f.script is script and _holds(f, frame)]
    if not inside:
        return None
    return spot_at(min(inside, key=_extent), frame.line)


def spot_at(function: Function, line: int) -> Spot | None:
    """Return the innermost statement of a function's own body at a line."""
    arms: list[Arm] = []
    body: Sequence[ast.stmt] = function.node.body
    here: ast.stmt | None = None
    while True:
        inner = next((s for s in body if _first(s) <= line <= (s.end_lineno or s.lineno)), None)
        if inner is None:
            break
        here = inner
        part, body = next(((p, b) for p, b in parts(inner) if _within(b, line)), ("body", []))
        if not body:
            break
        arms.append(Arm(inner, part))
    return None if here is None else Spot(function, here, tuple(arms))


def script_of(project: Project, path: str) -> Script | None:
    """Return the script that a path of another machine means: the one that shares the longest end with it."""
    wanted = PurePath(path.replace("\\", "/")).parts
    best, most, tied = None, 0, False
    for script in project.scripts:
        have = PurePath(script.name.replace("\\", "/")).parts
        same = 0
        while same < min(len(have), len(wanted)) and have[-1 - same] == wanted[-1 - same]:
            same += 1
        if same > most:
            best, most, tied = script, same, False
        elif same and same == most:
            tied = True
    return None if tied else best


def _fits(script: Script, frame: Frame) -> bool:
    if not 0 < frame.line <= len(script.lines):
        return False
    quoted, there = frame.source.strip(), script.lines[frame.line - 1].strip()
    return not quoted or quoted in there or there in quoted


def _holds(function: Function, frame: Frame) -> bool:
    node = function.node
    if isinstance(node, ast.Module):
        return frame.function in {"<module>", ""}
    name = frame.function.rpartition(".")[2]
    return node.name == name and _first(node) <= frame.line <= (node.end_lineno or node.lineno)


def _extent(function: Function) -> int:
    node = function.node
    return 1 << 30 if isinstance(node, ast.Module) else (node.end_lineno or node.lineno) - node.lineno


def _first(node: ast.stmt) -> int:
    decorators: list[int] = [d.lineno for d in getattr(node, "decorator_list", ())]
    return min([node.lineno, *decorators])


def _within(body: Sequence[ast.stmt], line: int) -> bool:
    return bool(body) and _first(body[0]) <= line <= (body[-1].end_lineno or body[-1].lineno)
