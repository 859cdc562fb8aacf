"""What is wrong with a file of the knowledge base, and where."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, Literal

import msgspec

Severity = Literal["error", "warning"]


class Problem(msgspec.Struct, frozen=True, order=True):
    """One thing that an author has to repair, at the place where it is written."""

    path: str
    line: int
    """1-based."""
    column: int
    """1-based, in characters."""
    message: str
    severity: Severity = "error"

    def __str__(self) -> str:
        """`file:line:column: message`, as editors and terminals link it."""
        return self.shown()

    def shown(self, base: Path | None = None) -> str:
        """Return `file:line:column: message` with the file named from `base` where it lies below it."""
        path = self.path
        if base is not None and Path(path).is_relative_to(base):
            path = str(Path(path).relative_to(base))
        level = "warning: " if self.severity == "warning" else ""
        return plain(f"{path}:{self.line}:{self.column}: {level}{self.message}")


_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_LONGEST: Final = 500


def plain(text: str) -> str:
    """Return text of unknown origin as one line that a terminal shows and does not obey, cut to a readable length."""
    shown = _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text[: _LONGEST + 1])
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"


class CatalogueError(Exception):
    """The knowledge base cannot be used as it stands; `problems` says why, in order of file and line."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        first = problems[0] if problems else "no sources"
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        super().__init__(f"{first}{more}")
