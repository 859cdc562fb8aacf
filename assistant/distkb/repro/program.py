"""Which program shows an entry, and whether it can run here."""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from distkb.catalogue.model import Entry, Repro

Reason = Literal[
    "hardware",
    "no-torch",
    "no-accelerate",
    "no-deepspeed",
    "no-tensorboard",
    "no-trl",
    "no-namespaces",
    "not-written",
]
"""Why a reproduction cannot run here: key of the sentence `repro.reason.<reason>`."""

SCRIPT, NETWORK, RECORDED = "repro.py", "network.sh", "recorded"
_ASK = """
import importlib.metadata, importlib.util, sys
for name in sys.argv[1:]:
    if importlib.util.find_spec(name):
        try:
            print(name, importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            print(name, "?")
"""
_ASK_S = 30.0
"""Seconds for an interpreter to say what it has: environments on network disks are slow."""
_NEEDS: dict[str, Reason] = {
    "accelerate": "no-accelerate",
    "deepspeed": "no-deepspeed",
    "tensorboard": "no-tensorboard",
    "trl": "no-trl",
}
_MODULES = ("torch", *_NEEDS)


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """What shows one failure: `repro.py` in the entry's directory, or what was recorded where hardware is needed."""

    entry: Entry
    spec: Repro
    directory: Path
    file: str = SCRIPT
    arguments: tuple[str, ...] = ()
    """What the program is called with, beside `--fixed`."""

    @property
    def script(self) -> Path:
        """The program."""
        return self.directory / self.file

    @property
    def recorded(self) -> Path:
        """The folder of what a run with the hardware leaves."""
        return self.directory / RECORDED


class Availability(msgspec.Struct, frozen=True, kw_only=True):
    """Whether an entry's reproduction can run here."""

    entry: Entry
    program: Program | None
    reason: Reason | None
    """None where it can run."""


def find_program(entry: Entry, knowledge_bases: Sequence[Path]) -> Program | None:
    """Return what shows an entry; None where the catalogue says nothing or the files are not there."""
    if entry.repro is None:
        return None
    for base in knowledge_bases:
        directory = base / "entries" / entry.family / f"{entry.id}-{entry.slug}"
        if (directory / (RECORDED if entry.repro.kind == "hw" else SCRIPT)).exists():
            return Program(entry=entry, spec=entry.repro, directory=directory)
    return None


@functools.cache
def modules(python: Path) -> Mapping[str, str]:
    """Return the versions of torch and of what programs may need, as far as they are there; none is imported."""
    try:
        asked = subprocess.run(  # noqa: S603 - the user's own interpreter
            [python, "-c", _ASK, *_MODULES],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_ASK_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    return dict(line.split(maxsplit=1) for line in asked.stdout.splitlines() if " " in line)


def availability(entry: Entry, knowledge_bases: Sequence[Path], python: Path) -> Availability:
    """Say whether an entry's reproduction can run under `python`, and if not, why."""
    program = find_program(entry, knowledge_bases)
    return Availability(entry=entry, program=program, reason=_reason(program, python))


def list_all(entries: Iterable[Entry], knowledge_bases: Sequence[Path], python: Path) -> list[Availability]:
    """Return the availability of every entry, in the given order."""
    return [availability(entry, knowledge_bases, python) for entry in entries]


def _reason(program: Program | None, python: Path) -> Reason | None:
    if program is None:
        return "not-written"
    spec = program.spec
    if spec.kind == "hw":
        return "hardware"
    needed: dict[str, Reason] = {"torch": "no-torch"}
    needed |= {name: reason for name, reason in _NEEDS.items() if name in (*spec.needs, *spec.packages)}
    lacking = next((reason for name, reason in needed.items() if name not in modules(python)), None)
    if lacking is None and (spec.launch == "nodes" or "namespaces" in spec.needs):
        from distkb.repro.nodes import unavailable

        return None if unavailable() is None else "no-namespaces"
    return lacking
