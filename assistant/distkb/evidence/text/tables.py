"""Tables of numbers that a run wrote as CSV, read as lines that say the name of each number."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from distkb.evidence.text.opening import Readable

_NAME: Final = re.compile(r'"?[A-Za-z_][\w ./%()\[\]:@-]{0,60}"?')
_COUNTS: Final = re.compile(
    r"(?i)(?:^|[_ /.-])(?:step|epoch|iter(?:ation)?|update|batch|it)s?(?:[_ ]?(?:idx|no|num))?$"
)
_LEARNS: Final = re.compile(
    r"(?i)loss|\blr\b|lr$|learning.?rate|grad|norm|acc|reward|ppl|perplexity|auc|mse|mae|f1|(?:tokens|samples|it|steps)/s"
)
TABLE: Final = ".csv"
MOST: Final = 200
"""Columns of such a table."""
LONGEST: Final = 1 << 14
"""Bytes of one row; a longer one is none, and stays as it is."""


def columns(start: bytes) -> tuple[str, ...]:
    """Return the names of the columns of a table of what a run counted and learnt; none where it is no such table.

    `start`: the first bytes of the file. Tables of data have no column that counts the steps of a run.
    """
    line = start.partition(b"\n")[0].strip().decode("utf-8", "replace")
    names = tuple(name.strip() for name in line.split(","))
    if not 2 <= len(names) <= MOST or not all(map(_NAME.fullmatch, names)):
        return ()
    names = tuple(name.strip('"') for name in names)
    counts = [_COUNTS.search(name) is not None for name in names]
    learns = any(_LEARNS.search(name) for name, count in zip(names, counts, strict=True) if not count)
    return names if any(counts) and learns else ()


class NamedRows:
    """A reader of such a table in which each row but the first says `step 20 loss 0.31`; rows stay in their lines."""

    def __init__(self, names: tuple[str, ...], inner: Readable) -> None:
        """Take the names of the columns, and the reader of the whole file."""
        self._names = names
        self._inner = inner
        self._rest = b""
        self._said = bytearray()
        self._is_head = True

    @property
    def damage(self) -> str:
        """Why the data ended early; empty where it did not."""
        return str(getattr(self._inner, "damage", ""))

    def read(self, size: int, /) -> bytes:
        """Next bytes."""
        while len(self._said) < size:
            got = self._inner.read(max(size, LONGEST))
            rows = (self._rest + got).split(b"\n")
            self._rest = rows.pop() if got else b""
            for row in rows if got else rows[: -1 if rows[-1] == b"" else None]:
                self._said += self._row(row) + b"\n"
            if not got:
                break
            if len(self._rest) > LONGEST:
                self._said += self._rest
                self._rest = b""
        found = bytes(self._said[:size])
        del self._said[:size]
        return found

    def _row(self, row: bytes) -> bytes:
        text = row.strip()
        if self._is_head or not text or len(text) > LONGEST:
            self._is_head = False
            return row
        plain = text.decode("utf-8", "replace")
        cells = next(csv.reader([plain]), []) if '"' in plain else plain.split(",")
        if len(cells) != len(self._names):
            return row
        told = (f"{name} {cell.strip()}" for name, cell in zip(self._names, cells, strict=True) if cell.strip())
        return " ".join(told).encode()
