"""The only writer of stdout: its width, its colours, and what happens when the reader has gone away."""

from __future__ import annotations

import contextlib
import os
import sys
from io import TextIOWrapper

import click

from distkb.report.page import Ink, Role, plain

PIPED_COLUMNS, MOST_COLUMNS, FEWEST_COLUMNS = 80, 100, 40
"""Columns when stdout is no terminal, and the limits within which a terminal's own width is used."""

_STYLES: dict[Role, dict[str, str | bool]] = {
    "title": {"bold": True},
    "heading": {"bold": True, "fg": "cyan"},
    "label": {"fg": "cyan"},
    "faint": {"dim": True},
    "good": {"fg": "green"},
    "bad": {"fg": "red"},
    "code": {"bold": True},
}


def prepare() -> None:
    """Make stdout and stderr replace what their encoding lacks instead of failing on it.

    A stream that was closed before the start (`>&-`) leads nowhere.
    """
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123 - open until the process ends
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def write(text: str) -> None:
    """Write data to stdout; a reader that has gone away (`| head`) is no failure."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter flushes stdout once more when it ends; that must not fail a second time.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def flush() -> None:
    """Hand over what is still buffered; called when nothing can be said about a failure any more."""
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()


def is_terminal() -> bool:
    """Whether a person looks at stdout directly."""
    return sys.stdout.isatty()


def is_interactive() -> bool:
    """Whether a person types at one end of a terminal and looks at the other."""
    return is_terminal() and sys.stdin is not None and sys.stdin.isatty()


def columns() -> int:
    """Return the width to write for."""
    if not is_terminal():
        return PIPED_COLUMNS
    wide = os.environ.get("COLUMNS", "")
    if wide.isdecimal() and int(wide) > 0:
        return max(FEWEST_COLUMNS, min(MOST_COLUMNS, int(wide)))
    try:
        size = os.get_terminal_size(sys.stdout.fileno()).columns or PIPED_COLUMNS
    except (ValueError, OSError):
        size = PIPED_COLUMNS
    return max(FEWEST_COLUMNS, min(MOST_COLUMNS, size))


def ink() -> Ink:
    """Return the colours for stdout: none when it is no terminal or NO_COLOR is set."""
    if not is_terminal() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return plain
    return _coloured


def _coloured(text: str, role: Role) -> str:
    style = _STYLES[role]
    fg = style.get("fg")
    return click.style(
        text,
        fg=fg if isinstance(fg, str) else None,
        bold=True if style.get("bold") else None,
        dim=True if style.get("dim") else None,
    )
