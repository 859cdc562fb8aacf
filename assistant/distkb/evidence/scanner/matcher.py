"""Finds where any of many patterns may match in a block of text: Hyperscan, or a slower stand-in.

What comes out is a superset: every (pattern, end offset) that `re` would match is in it, and the caller
confirms with `re`. So bounds of repeats may be relaxed where they are costly to compile.
"""

from __future__ import annotations

import hashlib
import platform
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from distkb.catalogue.kept import keep, read_kept
from distkb.catalogue.patterns import BOUNDED
from distkb.evidence.scanner.gate import Gate, pieces
from distkb.evidence.scanner.literals import required_cases
from distkb.evidence.scanner.sieve import Sieve, choose, compile_choice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

Candidates = list[tuple[int, int]]
"""(index of the pattern, offset after the match), offsets ascending."""

Cases = list[list[tuple[str, ...]] | None]
"""By pattern its `required_cases`."""

FLOOD = 30_000
"""Callbacks for one block above which each line is scanned by itself, for at most one match per pattern and line."""

_FORMAT = "10"
_WIDE = re.compile(r"(?<=\.)\{0,(?:[89]\d|\d{3,})\}")
"""Bounds that take long to compile; without them the scan of bytes is as fast."""


class Matcher:
    """A set of patterns, compiled once and kept in the cache directory."""

    def __init__(self, patterns: Sequence[str], *, utf8: bool = False, cache_dir: Path | None = None) -> None:
        """Take patterns of the subset that `re` and Hyperscan share.

        With `utf8`, text must be valid UTF-8 and characters are what `.` and classes mean; else bytes are.
        """
        self._patterns = tuple(patterns)
        self._utf8 = utf8
        self._cache_dir = cache_dir
        self._all: Any = None
        self._single: Any = None
        self._sieve: Sieve | None = None
        self._dense = False
        self._gate: Gate | None = None

    def is_kept(self) -> bool:
        """Whether making ready takes no compiling: what it needs is in the cache directory, or nothing can be kept."""
        try:
            import hyperscan
        except ImportError:
            return True
        paths = (self._cache_path(getattr(hyperscan, "__version__", ""), kind) for kind in ("all", "sieve"))
        return all(path is None or path.exists() for path in paths)

    def open(self) -> None:
        """Make ready, so that what is forked from this process need not."""
        self._open()
        self.sieve()

    def _open(self) -> None:
        if self._patterns and self._gate is None and self._all is None:
            try:
                self._all = self._compiled(single=False)
            except ImportError:
                self._gate = Gate(self._patterns)

    def sieve(self) -> Sieve | None:
        """The first, cheap look at large blocks; None without Hyperscan and for patterns that allow none."""
        if self._sieve is None and self._all is not None and not self._dense:
            database = self._stored("sieve", self._first_look)
            self._dense = database is None
            self._sieve = None if database is None else Sieve(database, self._other_looks)
        return self._sieve

    def candidates(self, data: bytes | memoryview) -> Candidates:
        """Where patterns may match in a block of whole lines. A database scans for one thread at a time."""
        self._open()
        if self._gate is not None:
            return self._gate.candidates(bytes(data))
        if not self._patterns:
            return []
        import hyperscan

        found: Candidates = []
        keep = found.append

        def on_match(index: int, _start: int, end: int, _flags: int, _context: object) -> bool | None:
            keep((index, end))
            return True if len(found) > FLOOD else None

        try:
            self._all.scan(data, match_event_handler=on_match)
        except hyperscan.ScanTerminated:
            return self._line_by_line(bytes(data))
        return found

    def candidates_on(self, data: bytes | bytearray, spans: Iterable[tuple[int, int]]) -> Candidates:
        """Where patterns may match on some lines, given by start and end; a carriage return ends no line here."""
        found: Candidates = []
        keep = found.append
        base = 0

        def on_match(index: int, _start: int, end: int, _flags: int, _context: object) -> bool | None:
            keep((index, base + end))
            return True if len(found) > FLOOD else None

        import hyperscan

        scan = self._all.scan
        view = memoryview(data)
        for start, stop in spans:
            base, before = start, len(found)
            try:
                scan(view[start:stop], match_event_handler=on_match)
            except hyperscan.ScanTerminated:
                del found[before:]
                found += [(index, start + end) for index, end in self._line_by_line(bytes(view[start:stop]))]
        return found

    def _line_by_line(self, data: bytes) -> Candidates:
        """Scan a block in which nearly everything matches: one match per pattern and line."""
        if self._single is None:
            self._single = self._compiled(single=True)
        found: Candidates = []
        keep = found.append
        base = 0

        def on_match(index: int, _start: int, end: int, _flags: int, _context: object) -> None:
            keep((index, base + end))

        view = memoryview(data)
        scan = self._single.scan
        for start, stop in pieces(data):
            base = start
            scan(view[start:stop], match_event_handler=on_match)
        return found

    def _compiled(self, *, single: bool) -> Any:
        return self._stored("single" if single else "all", lambda: self._whole(single=single))

    def _stored(self, kind: str, build: Callable[[], Any]) -> Any:
        """Database from the cache, or compiled now and put there."""
        import hyperscan

        path = self._cache_path(getattr(hyperscan, "__version__", ""), kind)
        if path is not None and (database := _load(path)) is not None:
            return database
        database = build()
        if path is not None and database is not None:
            keep(path, hyperscan.dumpb(database))
        return database

    def _first_look(self) -> Any:
        choice = choose(self._patterns, self._cases())
        return compile_choice(choice.pieces, choice.whole)

    def _other_looks(self, usual: bytes) -> list[Any]:
        """Databases for files full of `usual`: pieces and patterns are compiled much faster apart."""
        choice = choose(self._patterns, self._cases(), usual)
        looks = [((), choice.whole)] if choice.whole else []
        found = [compile_choice(*look) for look in ((choice.pieces, ()), *looks)]
        return [] if None in found else found

    def _cases(self) -> Cases:
        """What the matches of each pattern need, from the cache directory where it was kept."""
        path = self._cache_path("", "cases")
        if path is not None and (body := read_kept(path)) is not None:
            with suppress(msgspec.DecodeError):
                return msgspec.msgpack.decode(body, type=Cases)
        cases: Cases = [required_cases(pattern) for pattern in self._patterns]
        if path is not None:
            keep(path, msgspec.msgpack.encode(cases))
        return cases

    def _whole(self, *, single: bool) -> Any:
        import hyperscan

        flags = hyperscan.HS_FLAG_MULTILINE
        flags |= hyperscan.HS_FLAG_UTF8 if self._utf8 else 0
        flags |= hyperscan.HS_FLAG_SINGLEMATCH if single else 0
        expressions = [self._expression(pattern) for pattern in self._patterns]
        database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        database.compile(
            expressions=expressions,
            ids=list(range(len(expressions))),
            elements=len(expressions),
            flags=[flags] * len(expressions),
        )
        return database

    def _expression(self, pattern: str) -> bytes:
        return (BOUNDED if self._utf8 else _WIDE).sub("*", pattern).encode()

    def _cache_path(self, version: str, kind: str) -> Path | None:
        if self._cache_dir is None:
            return None
        key = hashlib.sha256()
        for part in (
            _FORMAT,
            version,
            platform.system(),
            platform.machine(),
            _cpu(),
            str((self._utf8, kind)),
            *self._patterns,
        ):
            key.update(part.encode() + b"\0")
        return self._cache_dir / f"patterns-{key.hexdigest()[:24]}.hs"


def _cpu() -> str:
    """What Hyperscan's code depends on: a database made for one kind of processor must not run on another."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:  # noqa: PTH123
            for line in lines:
                if line.startswith(("flags", "Features")):
                    return hashlib.sha256(line.encode()).hexdigest()[:12]
    except OSError:
        pass
    return platform.processor()


def _load(path: Path) -> Any:
    """Database from a kept file; None where there is none or it is damaged."""
    import hyperscan

    body = read_kept(path)
    if body is None:
        return None
    try:
        database = hyperscan.loadb(body, mode=hyperscan.HS_MODE_BLOCK)
        database.scratch = hyperscan.Scratch(database)
    except hyperscan.error:
        return None
    return database
