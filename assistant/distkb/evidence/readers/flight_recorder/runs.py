"""Cuts up entries that are written alike, and recognises those of a rank that did the same as another.

Torch writes every entry of a dump with the same keys in the same order, which are references after the first entry;
Python's own pickler does too; it numbers every container and every new string, and may write strings out.
The layout of an entry is learned from the first one; those that follow are cut into fields by one regular expression,
and only fields that somebody asks for are decoded.
"""

from __future__ import annotations

import re
from itertools import count
from typing import Any, NamedTuple

_serials = count()


class EntryBlock:
    """Entries in a row that were cut up, one item an entry in every column."""

    __slots__ = ("_count", "columns", "length", "masked", "numbers", "puts", "rest", "serial", "times")

    def __init__(self, layout: DumpLayout, rows: list[tuple[bytes, ...]], length: int, puts: int = 0) -> None:
        columns = tuple(zip(*rows, strict=True))
        self.numbers: tuple[tuple[bytes, ...], ...] = tuple(columns[i] for i in layout.numbers)
        """Columns of `NUMBERS`, as `integer` decodes them."""
        self.rest: tuple[tuple[bytes, ...], ...] = tuple(columns[i] for i in layout.rest)
        """Columns of pieces that repeat themselves, each some keys with their values, as `Stream.fields` decodes."""
        self._count = len(rows)
        self.length = length
        """Bytes of the entries."""
        self.puts = puts
        """How many values these bytes put into the memo."""
        self.serial = next(_serials)
        self.times = 0
        """Once compared: all bits but those of clocks, for the bytes as one little-endian number."""
        self.masked = 0
        self.columns: Any = None
        """What the reader of entries made of it: ranks that did the same share one run."""

    def __len__(self) -> int:
        return self._count


Numbers = tuple[bytes, ...]
NUMBERS = ("record_id", "collective_seq_id", "p2p_seq_id")
_UNUSED = frozenset(
    (
        "op_id",
        "thread_name",
        "thread_id",
        "time_created_ns",
        "time_discovered_started_ns",
        "time_discovered_completed_ns",
        "duration_ms",
        "timeout_ms",
    )
)
_CLOCKS = frozenset(
    ("time_created_ns", "time_discovered_started_ns", "time_discovered_completed_ns", "duration_ms", "op_id")
)
"""What differs between ranks that do the same, and is not used."""
_RUN = 256
"""Runs begin at record numbers that this divides."""
_MAX_KEPT = 600
"""Runs that are kept for comparison: each takes some 200 KB."""
_WINDOW = 65_536
_SLACK = 1024
"""Bytes of entries that are cut up at once, and compared at once with those of other ranks."""
_INT = rb"(?:K.|M..|J.{4}|\x8a\x08.{8}|\x8a\x05.{5}|\x8a\x06.{6})"
_REFERENCE = rb"(?:h.|j.{4})"
_PUT = rb"\x94?"
"""Python's pickler numbers what it has written."""
_SIZE = rb"\]" + _PUT + rb"(?:\(" + _INT + rb"*e|" + _INT + rb"a)?"
_SIZES = rb"(?:" + _REFERENCE + rb"|\]" + _PUT + rb"(?:\((?:" + _SIZE + rb"|h.|j.{4})*e|" + _SIZE + rb"a)?)"
_TOKEN = re.compile(rb"\x94|" + _INT + rb"|G.{8}|h.|j.{4}|\x8c(?:%s)|." % rb"|".join(
    b"\\x%02x.{%d}" % (length, length) for length in range(256)
), re.DOTALL)  # fmt: skip


def _values(strings: frozenset[int]) -> dict[str, bytes]:
    """Return how the value of each key is written, where strings of these lengths may be written out."""
    lengths = b"|".join(b"\\x%02x.{%d}" % (length, length) for length in sorted(strings))
    text = rb"(?:h.|j.{4}" + (rb"|\x8c(?:" + lengths + rb")\x94" if strings else b"") + b")"
    frame = rb"(?:h.|j.{4}" + (rb"|\}\x94\((?:" + text + rb"(?:" + _INT + rb"|" + text + rb"))*u" if strings else b"")
    texts, frames = _list(text, plain=not strings), _list(frame + b")", plain=not strings)
    scalar = rb"(?:" + _INT + rb"|" + text + rb"|[\x88\x89N]|G.{8})"
    return {
        "": scalar,
        "frames": frames,
        "input_sizes": _SIZES,
        "output_sizes": _SIZES,
        "input_dtypes": texts,
        "output_dtypes": texts,
        "process_group": rb"(?:" + text + text + rb"\x86" + _PUT + rb"|h.|j.{4})",
        **dict.fromkeys(("record_id", "collective_seq_id", "p2p_seq_id", "op_id", "pg_id", "timeout_ms"), _INT),
        "time_created_ns": rb"\x8a\x08.{8}",
        "time_discovered_started_ns": rb"(?:\x8a\x08.{8}|N)",
        "time_discovered_completed_ns": rb"(?:\x8a\x08.{8}|N)",
        **dict.fromkeys(("thread_name", "thread_id", "profiling_name", "state"), text),
        **dict.fromkeys(("retired", "is_p2p"), rb"[\x88\x89]"),
    }


def _list(item: bytes, *, plain: bool) -> bytes:
    if plain:  # as torch writes them: nothing to choose between, which is far faster
        return rb"\](?:\((?:h.)*(?:j.{4}(?:h.)*)*e)?"
    return rb"(?:h.|j.{4}|\]\x94(?:\(" + item + rb"*e|" + item + rb"a)?)"


class DumpLayout(NamedTuple):
    """How the entries of a dump with these keys are written."""

    entry: re.Pattern[bytes]
    numbers: tuple[int, ...]
    """Groups of `NUMBERS`, 0-based."""
    rest: tuple[int, ...]
    clocks: re.Pattern[bytes]
    """The same entry, with groups around the clocks only."""

    def numbers_of(self, entry: re.Match[bytes]) -> Numbers:
        """Return the bytes of the numbers of one entry."""
        return tuple(entry[i + 1] for i in self.numbers)


class Alike:
    """Runs of the ranks before, for those that come.

    Ranks that make the same calls write the same bytes but for clocks and thread ids, and bytes are compared far faster
    than they are cut up.
    """

    def __init__(self) -> None:
        self._runs: dict[int, dict[Numbers, EntryBlock]] = {}
        self._kept = 0

    def runs(self, signature: int) -> dict[Numbers, EntryBlock]:
        """Return the runs that were read with a memo of this signature, by the numbers of their first entries."""
        return self._runs.setdefault(signature, {})

    def keep(self, signature: int, numbers: Numbers, run: EntryBlock) -> None:
        """Keep a run for the ranks to come; all are dropped when they are too many."""
        if self._kept >= _MAX_KEPT:
            self._runs.clear()
            self._kept = 0
        self._kept += 1
        self.runs(signature).setdefault(numbers, run)


def cut(layout: DumpLayout, data: bytes, at: int, numbers: Numbers, length: int) -> EntryBlock:
    """Return the entries from `at` to the end of the window, or to the next record number that begins a run.

    Runs begin at the same numbers on all ranks, wherever the ring buffer of each begins. `length` is that of the first
    entry in bytes.
    """
    most = _RUN - integer[numbers[0]] % _RUN
    end = at + min(_WINDOW, most * length + _SLACK)
    rows: list[tuple[bytes, ...]] = layout.entry.findall(data, at, end)[:most]
    whole = b"".join([row[0] for row in rows])
    if not rows or not data.startswith(whole, at):
        # Something else stands between the entries, or the entry is longer than the window.
        rows = matches(layout.entry, data, at, end)[:most] or matches(layout.entry, data, at, at + length)
        whole = b"".join([row[0] for row in rows])
    puts = _TOKEN.findall(whole).count(b"\x94") if b"\x94" in whole else 0
    return EntryBlock(layout, rows, len(whole), puts)


def matches(entry: re.Pattern[bytes], data: bytes, at: int, end: int = 1 << 62) -> list[tuple[bytes, ...]]:
    """Return the groups of the entries that follow each other from `at`."""
    rows = []
    found = entry.match(data, at, end)
    while found is not None:
        rows.append(found.groups())
        at = found.end()
        found = entry.match(data, at, end)
    return rows


def layout_of(
    keys: tuple[Any, ...], references: dict[str, bytes], strings: frozenset[int] = frozenset()
) -> DumpLayout | None:
    """Return the expression for entries with these keys; None where a key is not written as a reference.

    `strings` are the lengths of strings that may be written out; empty for what torch writes.

    Group 0 is the entry, then follow the numbers alone, and keys with their values: neighbours that repeat
    themselves together are one group, so that few pieces are cut.
    """
    if not all(type(key) is str and key in references for key in keys) or not set(NUMBERS) <= set(keys):
        return None
    values = _values(strings)
    pattern, clocks, groups, is_open = b"", b"", 1, False
    numbers: dict[str, int] = {}
    rest: list[int] = []
    for key in keys:
        repeats = key not in NUMBERS and key not in _UNUSED
        if is_open and not repeats:
            pattern += b")"
        elif repeats and not is_open:
            pattern += b"("
            rest.append(groups)
            groups += 1
        is_open = repeats
        value = values.get(key, values[""])
        clocks += re.escape(references[key]) + (b"(" + value + b")" if key in _CLOCKS else value)
        if key in NUMBERS:
            numbers[key] = groups
            groups += 1
            value = b"(" + value + b")"
        pattern += re.escape(references[key]) + value
    opening = rb"\}" + (b"\x94" if strings else b"") + rb"\("
    pattern = b"(" + opening + pattern + (b")u)" if is_open else b"u)")
    return DumpLayout(
        re.compile(pattern, re.DOTALL),
        tuple(numbers[name] for name in NUMBERS),
        tuple(rest),
        re.compile(opening + clocks + b"u", re.DOTALL),
    )


class _Integers(dict[bytes, int]):
    """Numbers by their bytes: sequence numbers are the same on all ranks."""

    def __missing__(self, piece: bytes) -> int:
        start = 2 if piece[0] == 0x8A else 1
        if len(self) > 500_000:
            self.clear()
        self[piece] = value = int.from_bytes(piece[start:], "little", signed=piece[0] in b"J\x8a")
        return value


integer = _Integers()
"""Value of the bytes of a number of a `EntryBlock`."""


def learn_clocks(layout: DumpLayout, run: EntryBlock, piece: bytes) -> bool:
    """Return whether the entries of a piece are those of the run but for clocks; the run then knows where these are."""
    rows = matches(layout.entry, piece, 0)
    if sum(len(row[0]) for row in rows) != run.length:
        return False
    other = EntryBlock(layout, rows, run.length, run.puts)
    if other.numbers != run.numbers or other.rest != run.rest:
        return False
    clocks = bytearray(b"\xff" * run.length)
    at = 0
    while (found := layout.clocks.match(piece, at)) is not None:
        for start, end in found.regs[1:]:
            clocks[start:end] = bytes(max(0, end - start))
        at = found.end()
    run.times = int.from_bytes(clocks, "little")
    run.masked = int.from_bytes(piece, "little") & run.times
    if run.columns is not None:
        run.numbers = run.rest = ()
    return True
