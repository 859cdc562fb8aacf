"""Which files hold checkpoints, and the checkpoints in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from distkb.evidence.guarded import unread
from distkb.evidence.inventory import looks_like_log, rank_of
from distkb.evidence.observation import Skipped
from distkb.evidence.readers.traces.lines import parse
from distkb.evidence.readers.traces.mark import Mark
from distkb.evidence.text.opening import Readable, UnreadableError, open_text

MAX_FILES = 400
"""Files of given folders that are looked at, besides those that the tracer names."""
MAX_BYTES = 64 << 20
"""Bytes of one file that are read."""
MAX_MARKS = 100_000
"""Checkpoints of one file that are kept: the first half, and the last."""
PEEK = 64 << 10
"""Bytes in which a file of any other name must show that it holds checkpoints."""
_TRACE_NAME = re.compile(r"trace-(?:rank-(\d{1,6})|pid-\d+)\.log")
_ELASTIC_RANK = re.compile(r"attempt_\d+/(\d{1,5})/(?:stdout|stderr)\.log$")
_FRAME = re.compile(r'^\s*File "([^"]{1,400})", line (\d{1,7}) in (\S{1,100})')
_THREAD = re.compile(r"^(?:Current thread|Thread) 0x[0-9a-f]+")
_FRAMES = 3
_MAY_BE_MARK = re.compile(r"(?i)distkb-trace v|check[ _-]?point|chkpt|ckpt|milestone|breadcrumb|marker")
_MARK_WORDS = (b"distkb-trace v", b"check", b"chkpt", b"ckpt", b"milestone", b"breadcrumb", b"marker")
"""Cheap test before the costly one. Numbered steps alone make no trace: every training log has them."""


class TraceFrame(msgspec.Struct, frozen=True):
    """A line of the user's code in a stack that the tracer wrote."""

    path: str
    line: int
    function: str
    at: int
    """Line of the trace file."""


class TraceFile(msgspec.Struct, frozen=True, kw_only=True):
    """What one file holds."""

    path: str
    marks: tuple[Mark, ...] = ()
    frames: tuple[TraceFrame, ...] = ()
    """The innermost lines of the user's code of the last stack, main thread."""
    size: int = 0


def is_tracers_own(path: Path) -> bool:
    """Whether the tracer wrote the file, and nothing else did."""
    return _TRACE_NAME.fullmatch(path.name) is not None


def may_be_trace(path: Path) -> bool:
    """Whether the name does not speak against it."""
    return looks_like_log(path.name)


def holds_marks(path: Path, start: bytes) -> bool:
    """Whether the start of a file shows the tracer's lines, or some written by hand with their ranks."""
    rank = _rank_of(path)
    for line in _telling(start):
        if _MAY_BE_MARK.search(line) is None:
            continue
        mark = parse(line, str(path), 1, rank)
        if mark is not None and (mark.wording == "tracer" or (mark.wording == "numbered" and mark.rank is not None)):
            return True
    return False


def _telling(start: bytes) -> Iterator[str]:
    """Yield the lines in which a checkpoint may be named."""
    lowered = start.lower()
    after = 0
    for low in sorted({low for word in _MARK_WORDS for low in _places(lowered, word)}):
        if low >= after:
            begin = start.rfind(b"\n", 0, low) + 1
            after = (start.find(b"\n", low) + 1) or len(start)
            yield from start[begin:after].decode("utf-8", "replace").splitlines()


def _places(text: bytes, word: bytes) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(b"\n", at)
        at = text.find(word, at) if at >= 0 else -1


def _rank_of(path: Path) -> int | None:
    named = _TRACE_NAME.fullmatch(path.name)
    if named is not None:
        return int(named[1]) if named[1] else None
    elastic = _ELASTIC_RANK.search(path.as_posix())
    return int(elastic[1]) if elastic else rank_of(path.name)


def read(path: Path) -> TraceFile | Skipped:
    """Return the checkpoints of one file; Skipped where it cannot be read."""
    try:
        raw, text = open_text(path)
    except (UnreadableError, OSError, ValueError) as error:
        return unread(str(path), error)
    with raw:
        try:
            return _read(path, text)
        except OSError as error:
            return unread(str(path), error)


def _read(path: Path, text: Readable) -> TraceFile:
    name, rank = str(path), _rank_of(path)
    marks: list[Mark] = []
    frames: list[TraceFrame] = []
    size = 0
    for number, line in enumerate(_lines(text), 1):
        size += len(line) + 1
        shown = line.decode("utf-8", "replace")
        if _THREAD.match(shown):
            # faulthandler prints the main thread last, so the last block that has lines of the user counts.
            frames = frames if shown.startswith("Thread") and not frames else []
        elif (frame := _FRAME.match(shown)) is not None:
            if _is_users(frame[1]) and len(frames) < _FRAMES:
                frames.append(TraceFrame(frame[1], int(frame[2]), frame[3], number))
        else:
            mark = parse(shown, name, number, rank)
            if mark is not None:
                frames = frames if mark.kind in ("quiet", "env") else []
                marks.append(mark)
        if len(marks) > 2 * MAX_MARKS:
            marks = marks[: MAX_MARKS // 2] + marks[-MAX_MARKS // 2 :]
    return TraceFile(path=name, marks=tuple(marks), frames=tuple(frames), size=size)


def _is_users(path: str) -> bool:
    return not (
        path.startswith("<") or "site-packages" in path or "dist-packages" in path
        or re.search(r"[/\\]lib[/\\]python3\.\d+[/\\]|distkb_probes[/\\]trace\.py$|distkb_trace\.py$", path)
    )  # fmt: skip


def _lines(text: Readable) -> Iterator[bytes]:
    """Yield lines up to the limit of bytes; a line longer than a block comes in pieces."""
    rest, total = b"", 0
    while total < MAX_BYTES:
        data = text.read(1 << 20)
        if not data:
            break
        total += len(data)
        *lines, rest = (rest + data).split(b"\n")
        yield from lines
        if len(rest) > 1 << 20:
            yield rest
            rest = b""
    if rest:
        yield rest
