"""Reads Python tracebacks out of log text: one rank's lines out of an interleaved console, chains, groups."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_LINES = 1200
MAX_PREFIX = 1000
"""Characters before a line's own text that are looked at."""
MAX_MESSAGE = 12
"""Lines of an exception's message that are kept."""


class TracebackFrame(msgspec.Struct, frozen=True):
    """One level of a traceback."""

    path: str
    line: int
    function: str
    source: str
    at: int
    """Index of its line in the text that was parsed."""

    @property
    def text(self) -> str:
        """What signatures of frames are matched against."""
        return f'File "{self.path}", line {self.line}, in {self.function}  {self.source}'

    @property
    def user(self) -> bool:
        """Whether it is the user's code rather than a library's."""
        return not is_library(self.path)


class Raised(msgspec.Struct, frozen=True):
    """One exception with the frames it passed through, outermost first."""

    type: str
    message: str
    frames: tuple[TracebackFrame, ...]
    at: int
    """Index of the line that names the exception; -1 where the text ends before it."""

    @property
    def user_frame(self) -> TracebackFrame | None:
        """The innermost frame of the user's code."""
        return next((frame for frame in reversed(self.frames) if frame.user), None)

    @property
    def below(self) -> tuple[TracebackFrame, ...]:
        """The library frames inside the innermost frame of the user's code."""
        for index in range(len(self.frames) - 1, -1, -1):
            if self.frames[index].user:
                return self.frames[index + 1 :]
        return self.frames


class Chain(msgspec.Struct, frozen=True):
    """Exceptions that followed from one another, first cause first."""

    raised: tuple[Raised, ...]
    consumed: frozenset[int]
    """Indices of the lines that belong to it."""
    spawned: int | None = None
    """Process index that `torch.multiprocessing.spawn` printed above it."""

    @property
    def first(self) -> Raised:
        """The first cause; of a program that was interrupted while it dealt with an exception, the interruption."""
        return self.raised[-1 if self.raised[-1].type.rpartition(".")[2] in _INTERRUPTIONS else 0]

    @property
    def launcher(self) -> bool:
        """Whether the launcher raised it about its children: never a failure of the user's code."""
        last = self.raised[-1]
        return last.type.rpartition(".")[2] in _LAUNCHER_TYPES or any(
            _LAUNCHER_FILES.search(f.path) for f in last.frames[:4]
        )


_INTERRUPTIONS = frozenset({"KeyboardInterrupt", "SignalException"})
"""Raised from outside: what was raised before it had been caught."""
_FRAME = re.compile(
    r'^(?P<indent>[ \t]*)File "(?P<path>[^"\n]{1,500})", line (?P<line>\d{1,9})(?:, in (?P<function>.{1,200}))?\s*$'
)
_ANCHOR = "Traceback (most recent call last):"
_EXCEPTION = re.compile(r"^(?P<type>[A-Za-z_][\w.]{0,200}(?:<locals>\.[\w.]+)?)(?::(?: (?P<message>.*))?)?$")
_GROUP_MARK = re.compile(r"^[ ]*(?:\| |\+(?:-\+-+ .*|-+|  ?Exception Group )|\|)")
_CARETS = re.compile(r"^\s*[~^][\s~^]*$")
_CHAINED = (
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
)
_SPAWNED = re.compile(r"-- Process (\d{1,9}) terminated with the following error:")
_LAUNCHER_TYPES = frozenset({"ChildFailedError", "SignalException", "ProcessRaisedException", "ProcessExitedException"})
_LAUNCHER_FILES = re.compile(
    r"(?:bin/(?:torchrun|accelerate|deepspeed)|torch/distributed/(?:run|launch)\.py|accelerate/commands/|deepspeed/launcher/)"
)
LIBRARY = (
    r"(?:^|/)(?:site-packages|dist-packages)/|/lib(?:64)?/python\d|^<(?!stdin|ipython)|/runpy\.py$|/bin/(?:torchrun|accelerate|deepspeed)$"
    r"|(?:^|/)torch/(?:distributed|nn|autograd|utils|multiprocessing|cuda|optim|_\w+|\w+\.py)"
    r"|/(?:src/)?(?:transformers|accelerate|deepspeed|pytorch_lightning|lightning)/(?:src/)?\w+.*\.py$|/multiprocessing/\w+\.py$"
    r"|/[Ll]ib/(?:multiprocessing|concurrent|threading|importlib|runpy|asyncio|json|os|socket)\b|^torch/csrc/"
)
"""Paths of files of Python and of installed libraries."""
_LIBRARY = re.compile(LIBRARY)


def is_library(path: str) -> bool:
    """Whether a file belongs to Python or an installed library, by its path."""
    return _LIBRARY.search(path.replace("\\", "/")) is not None


def parse(lines: Sequence[str], start: int = 0, before: Sequence[str] = ()) -> Chain | None:
    """Read the traceback that starts in `lines[start]`, with the tracebacks chained to it.

    Lines of other writers in between are left out: only those with the prefix of the first line count.
    `before` are the lines above, for what `torch.multiprocessing.spawn` prints there. None where nothing can be read.
    """
    opening = lines[start]
    at = opening.find(_ANCHOR)
    if at < 0:
        return None
    prefix, grouped = _prefix(opening[:at])
    if prefix and start + 1 < len(lines) and _FRAME.match(lines[start + 1]):
        prefix, grouped = "", False  # what stands before it is an unfinished line, such as a progress bar
    elif not grouped and (tags := _without_bar(lines, start, prefix)) != prefix:
        lines = [*lines[:start], f"{tags} {opening[at:]}", *lines[start + 1 :]]
        prefix = tags
    own = _own_lines(lines, start, prefix, grouped=grouped)
    raised: list[Raised] = []
    consumed: set[int] = set()
    position = 0
    while position < len(own):
        one, after = _one(own, position)
        if one is None:
            break
        raised.append(one)
        consumed.update(index for index, _ in own[position:after])
        following = _chained(own, after)
        if following is None:
            break
        position = following
    if not raised:
        return None
    spawned = next((int(m[1]) for line in reversed(before[-3:]) if (m := _SPAWNED.search(line))), None)
    return Chain(tuple(raised), frozenset(consumed), spawned)


def _prefix(opening: str) -> tuple[str, bool]:
    """What each line of this traceback starts with, and whether exception-group marks follow it."""
    grouped = re.search(r"(?:\+ Exception Group |\| )\s*$", opening)
    lead = opening[: grouped.start()] if grouped else opening
    return lead.rstrip(" \t"), grouped is not None


_TAGS = re.compile(r"^(?P<outer>(?:\[[\w-]+\]:|\d{1,5}: ?)*).*?(?P<inner>(?:\[[\w-]+\]:)?)$")


def _without_bar(lines: Sequence[str], start: int, prefix: str) -> str:
    """The prefix without an unfinished line, such as a progress bar, between the tags of launcher and rank."""
    following = [line for line in lines[start + 1 : start + 40] if 'File "' in line]
    if any(line.startswith(prefix) for line in following):
        return prefix
    tags = _TAGS.match(prefix[:MAX_PREFIX])
    short = (tags["outer"] + tags["inner"]).rstrip() if tags else ""
    return short if short and any(line.startswith(short) for line in following) else prefix


_VARYING = re.compile(r"\d+")


def _own_lines(lines: Sequence[str], start: int, prefix: str, *, grouped: bool) -> list[tuple[int, str]]:
    """Lines of the same writer, without the prefix: (index, rest). A prefix with a time in it varies in its digits."""
    timed = None
    if re.search(r"\d\d:\d\d:\d\d", prefix):
        timed = re.compile(_VARYING.sub(r"\\d+", re.escape(prefix)))
    own: list[tuple[int, str]] = []
    for index in range(start, min(len(lines), start + MAX_LINES)):
        line = lines[index]
        if timed is not None:
            found = timed.match(line)
            rest = line[found.end() :] if found else None
        else:
            rest = line[len(prefix) :] if line.startswith(prefix) else None
            if rest and index == start and not prefix and not grouped:
                rest = rest[rest.find(_ANCHOR) :] if rest.strip()[:1] != "T" else rest
        if rest is None:
            continue
        if prefix and rest.startswith(" "):
            rest = rest[1:]
        if grouped:
            rest = _GROUP_MARK.sub("", rest) if _ANCHOR not in rest else rest[rest.find(_ANCHOR) :]
        own.append((index, rest))
    return own


def _one(own: list[tuple[int, str]], position: int) -> tuple[Raised | None, int]:
    """Read one exception from its "Traceback" line on; and the position after it."""
    opening = own[position][1]
    base = _indent(opening) if opening.lstrip().startswith(_ANCHOR) else 0
    frames: list[TracebackFrame] = []
    index = position + 1
    while index < len(own):
        text = own[index][1]
        found = _FRAME.match(text)
        if found is not None:
            at, source = own[index][0], ""
            if _is_source(own, index + 1, len(found["indent"])):
                index += 1
                source = own[index][1].strip()
            function = (found["function"] or "<module>").strip()
            frames.append(TracebackFrame(found["path"], int(found["line"]), function, source, at))
        elif _ends(own, index, base):
            break
        index += 1
    if not frames:
        return None, index
    return _exception(own, index, frames)


def _ends(own: list[tuple[int, str]], index: int, base: int) -> bool:
    """Whether a line that is no frame ends the frames."""
    text = own[index][1]
    if not text.strip():
        return not _continues(own, index)
    return _CARETS.match(text) is None and _indent(text) <= base


def _exception(own: list[tuple[int, str]], index: int, frames: list[TracebackFrame]) -> tuple[Raised, int]:
    """Read the line that names the exception, and the lines its message goes on over."""
    found = _EXCEPTION.match(own[index][1].strip()) if index < len(own) else None
    if found is None:
        return Raised("", "", tuple(frames), -1), index
    at = own[index][0]
    message = [found["message"] or ""]
    index += 1
    while index < len(own) and len(message) < MAX_MESSAGE:
        text = own[index][1]
        if not text.strip() or _ANCHOR in text or _FRAME.match(text) or _new_line(text) or text.strip() in _CHAINED:
            break
        message.append(text.rstrip())
        index += 1
    return Raised(found["type"], "\n".join(message).strip(), tuple(frames), at), index


_LOG_LINE = re.compile(
    r"^(?:\[[A-Za-z]*\d+\]|\d{4}-\d\d-\d\d[ T_]\d\d:|[IWEF]\d{4} \d\d:|\[\d|\d\d:\d\d:\d\d"
    r"|\S+:\d+:\d+ \[\d+\] NCCL|terminate called)"
)


def _new_line(text: str) -> bool:
    """Whether a line after an exception is a log line of its own."""
    return _LOG_LINE.match(text) is not None


def _is_source(own: list[tuple[int, str]], index: int, indent: int) -> bool:
    if index >= len(own):
        return False
    text = own[index][1]
    return bool(text.strip()) and _indent(text) > indent and _FRAME.match(text) is None


def _continues(own: list[tuple[int, str]], index: int) -> bool:
    """Whether frames go on after an empty line."""
    return index + 1 < len(own) and _FRAME.match(own[index + 1][1]) is not None


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip(" \t"))


def _chained(own: list[tuple[int, str]], position: int) -> int | None:
    """Position of the next traceback of the same chain."""
    joined = False
    for index in range(position, min(len(own), position + 8)):
        text = own[index][1].strip()
        if text in _CHAINED:
            joined = True
        elif _ANCHOR in text:
            return index if joined else None
        elif text and not joined:
            continue
    return None
