"""Which files of a knowledge base are read, and in which order."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path


PARTS = ("aliases", "signatures")
"""Fields of an entry that may stand in a file of their own beside it, `aliases.yaml`."""
EXAMPLES = ("accounts", "projects", "runs")
"""Files beside an entry that hold made-up examples of it."""


class SourceFile(NamedTuple):
    """One file of a knowledge base, with what tells whether it has changed."""

    path: str
    """Relative to the knowledge base, with `/`."""
    size: int
    mtime_ns: int


ENTRY_ID = re.compile(r"(D|MN|M|U)([1-9][0-9]*)")
"""An entry's id: its series and a number."""


def human_order(text: str) -> tuple[tuple[int, str | int], ...]:
    """Return a sort key by which D2 comes before D10."""
    parts = re.split(r"([0-9]+)", text)
    return tuple((1, int(part)) if part.isdecimal() else (0, part) for part in parts if part)


def source_files(directory: Path) -> list[SourceFile]:
    """List the files of a knowledge base, cheaply and always in the same order.

    They are `glossary.yaml`, `traits.yaml`, `observations/*.yaml`, `settings/*.yaml`, `messages/*.yaml` and, in
    `entries/<family>/<ID>-<slug>/`, `entry.yaml`, the files of `PARTS` and of `EXAMPLES`.
    What is not there or may not be read is left out: the loader says so.
    """
    root = str(directory)
    found = [_file(root, "glossary.yaml"), _file(root, "traits.yaml")]
    for part in ("observations", "settings", "messages"):
        found += [_file(root, f"{part}/{name}") for name in _names(f"{root}/{part}") if name.endswith(".yaml")]
    for family in _names(f"{root}/entries"):
        for name in _names(f"{root}/entries/{family}"):
            files = ("entry", *PARTS, *EXAMPLES)
            found += [_file(root, f"entries/{family}/{name}/{file}.yaml") for file in files]
    return [file for file in found if file is not None]


def _names(directory: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(directory) if not name.startswith("."))  # noqa: PTH208 - speed
    except OSError:
        return []


def _file(root: str, relative: str) -> SourceFile | None:
    try:
        stat = os.stat(f"{root}/{relative}")  # noqa: PTH116 - speed
    except OSError:
        return None
    return SourceFile(relative, stat.st_size, stat.st_mtime_ns)
