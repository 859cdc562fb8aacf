"""The lines around a place of a file, of any size, packed or not."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath

from distkb.evidence.observation import Passage, PassageLine
from distkb.evidence.text.clean import mask_lines, quote_text
from distkb.evidence.text.opening import open_text

ABOVE, BELOW = 25, 25
"""Lines on either side."""
_CHUNK = 1 << 20
_LONGEST = 1 << 16
"""Bytes of one line that are kept."""
_MOST_FILES = 100_000


def find(name: str, paths: Sequence[Path]) -> Path | None:
    """Return the file that is meant, which is one of those given or lies below one; None where there is none.

    `name` is written as it was shown: the whole path, or its end. Of several files the shortest path is meant.
    """
    wanted = PurePath(name).parts
    best: Path | None = None
    for file in _below(paths):
        parts = file.parts
        if parts[-len(wanted) :] == wanted and (best is None or len(parts) < len(best.parts)):
            best = file
    return best


def _below(paths: Sequence[Path]) -> Iterator[Path]:
    left = _MOST_FILES
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        for directory, folders, names in os.walk(path):
            folders.sort()
            for name in sorted(names):
                left -= 1
                if left < 0:
                    return
                yield Path(directory, name)


def lines_around(path: Path, line: int) -> Passage:
    """Return the lines around one; none where the file is shorter.

    Raises:
        UnreadableError: it is no text.
        OSError: the system refuses it.
    """
    first, last = max(1, line - ABOVE), line + BELOW
    found: list[bytes] = []
    raw, stream = open_text(path)
    with raw:
        number, rest = 1, b""
        while number <= last:
            data = stream.read(_CHUNK)
            if not data:
                break
            ends = data.count(b"\n")
            if number + ends < first:  # nothing of it is wanted
                number += ends
                rest = data[data.rfind(b"\n") + 1 :][:_LONGEST] if ends else (rest + data)[:_LONGEST]
                continue
            *whole, rest = (rest + data).split(b"\n")
            found += (text[:_LONGEST] for text in whole[max(0, first - number) : max(0, last + 1 - number)])
            number += len(whole)
            rest = rest[:_LONGEST]
        if rest and first <= number <= last:
            found.append(rest)
    texts = mask_lines(text.decode("utf-8", "replace").rpartition("\r")[2] for text in found)
    rows = tuple(PassageLine(number=number, text=quote_text(text)) for number, text in enumerate(texts, first))
    return Passage(path=str(path), rows=rows if rows and rows[-1].number >= line else ())
