"""The only writer of stderr, and the owner of the exit codes."""

from __future__ import annotations

import sys
from enum import IntEnum

from distkb.locale import Say
from distkb.report.layout import clean


class ExitCode(IntEnum):
    """What the process says to the shell."""

    DONE = 0
    """The command did its job, or nothing wrong was found."""
    FINDINGS = 1
    """Something wrong was found."""
    USAGE = 2
    """The command was used wrongly, or its input cannot be read."""
    UNABLE = 3
    """The command could not run here: something it needs is missing or not permitted."""
    INTERRUPTED = 130
    """The user pressed Ctrl-C."""


class Failure(Exception):  # noqa: N818 - it is not always an error of the program
    """Ends the command with one sentence in the user's language."""

    def __init__(self, key: str, /, *, code: ExitCode = ExitCode.USAGE, **values: object) -> None:
        super().__init__(key)
        self.key = key
        self.code = code
        self.values = values


def fail(failure: Failure, say: Say) -> ExitCode:
    """Print the failure and return its exit code."""
    error(say(failure.key, **failure.values), say)
    return failure.code


def error(sentence: str, say: Say) -> None:
    """Print `distkb: error: …` on one line."""
    _line(say("error.prefix"), sentence)


def note(sentence: str, say: Say, *, whole: bool = False) -> None:
    """Print `distkb: note: …` on one line; `whole` shows a token that distkb itself made, to be copied."""
    _line(say("note.prefix"), sentence, whole=whole)


def echo(line: str) -> None:
    """Print one line of a program that runs below us, as it is but for what a terminal would interpret."""
    write(f"{clean(line)}\n")


def _line(prefix: str, sentence: str, *, whole: bool = False) -> None:
    """Write a sentence, in which a word of the command line or of a file may stand, without a secret."""
    from distkb.evidence.text.clean import mask

    write(f"{prefix} {clean(sentence) if whole else mask(clean(sentence))}\n")


def write(text: str) -> None:
    """Write text that is clean already."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        return  # nobody listens; the exit code still tells
