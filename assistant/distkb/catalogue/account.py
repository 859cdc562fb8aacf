"""How people tell a failure, what runs that fail so print, and programs that do: files beside `entry.yaml`.

The statistics of their words lead a report, what a run prints, or a program to the cause; no reader ever sees them.
"""

from __future__ import annotations

from typing import Final

from distkb.catalogue.records import Language, Record

FILE: Final = "accounts.yaml"
RUNS: Final = "runs.yaml"
PROJECTS: Final = "projects.yaml"


class Account(Record, frozen=True, kw_only=True):
    """One account of a failure by someone who does not know its cause."""

    cause: str
    """Id of the cause behind it; the cause belongs to the entry of the same folder."""
    lang: Language
    text: str
    """What such a person would write: what was done and seen, and what they would paste."""


AccountFile = tuple[Account, ...]
"""The content of `accounts.yaml`."""


class ExampleRun(Record, frozen=True, kw_only=True):
    """One run that fails for a cause, as it might be: made up, not recorded, and no source for a message's wording."""

    cause: str
    """Id of the cause behind it; the cause belongs to the entry of the same folder."""
    log: str
    """What it prints."""
    code: str
    """The lines of its script, its launcher or its configuration that matter."""


RunFile = tuple[ExampleRun, ...]
"""The content of `runs.yaml`."""


class ExampleProject(Record, frozen=True, kw_only=True):
    """A whole program that fails for a cause, as it might be: made up, and never run."""

    cause: str
    """Id of the cause behind it; the cause belongs to the entry of the same folder."""
    files: dict[str, str]
    """By name: scripts, and what starts or configures them."""


ProjectFile = tuple[ExampleProject, ...]
"""The content of `projects.yaml`."""
