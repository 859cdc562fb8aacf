"""Which entry's signatures fire on which reproduction: the table `crossfire.txt`, and why in `crossfire.yaml`.

A signature belongs to the entry that defines it, and to those that name it in `shows`. `refresh.py` writes the table.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
from reproductions import catalogue

from distkb.diagnosis.model import Diagnosis

TABLE = Path(__file__).with_name("crossfire.txt")
REASONS = Path(__file__).with_name("crossfire.yaml")
_HEAD = """\
# Which entry's signatures fire on which reproduction; written by tests/repro/refresh.py, explained in crossfire.yaml.
# A line without indentation is a program; below it, each entry with those of its signatures that fire.
"""


class Cell(msgspec.Struct, frozen=True):
    """Signatures of one entry that fire on the program of one entry."""

    program: str
    owner: str
    signatures: tuple[str, ...]


class Reason(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why a signature fires on programs of other entries too."""

    signature: str
    because: str
    programs: tuple[str, ...] = ()
    """The programs; empty for any."""


@functools.cache
def owners() -> Mapping[str, frozenset[str]]:
    """Signature or finding → the entries that it belongs to."""
    found: dict[str, set[str]] = {}
    for entry in catalogue().entries:
        shows = entry.repro.shows if entry.repro else ()
        for name in (*(signature.id for signature in entry.signatures), *shows):
            found.setdefault(name, set()).add(entry.id)
    return {name: frozenset(ids) for name, ids in found.items()}


def cells(program: str, diagnosis: Diagnosis) -> list[Cell]:
    """Return the row of one program."""
    return cells_of(program, {o.id for o in diagnosis.evidence.observations if o.present})


def cells_of(program: str, seen: Iterable[str]) -> list[Cell]:
    """Return the row of a program on which these observations were made, its own entry first."""
    fired: dict[str, list[str]] = {}
    for name in sorted(seen):
        for owner in owners().get(name, ()):
            fired.setdefault(owner, []).append(name)
    ordered = sorted(fired, key=lambda owner: (owner != program, owner))
    return [Cell(program, owner, tuple(fired[owner])) for owner in ordered]


def write_table(rows: Iterable[Cell]) -> str:
    """Return the table as text."""
    lines: list[str] = []
    program = ""
    for cell in rows:
        if cell.program != program:
            program = cell.program
            lines.append(program)
        lines.append(f"  {cell.owner:<5}{' '.join(cell.signatures)}")
    return _HEAD + "\n".join(lines) + "\n"


def read_table() -> list[Cell]:
    """Return the cells of the table."""
    found: list[Cell] = []
    program = ""
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line.startswith("  "):
            owner, *signatures = line.split()
            found.append(Cell(program, owner, tuple(signatures)))
        elif not line.startswith("#"):
            program = line.strip()
    return found


@functools.cache
def reasons() -> tuple[Reason, ...]:
    """The explanations."""
    return msgspec.yaml.decode(REASONS.read_bytes(), type=tuple[Reason, ...])


def unexplained_on(program: str, diagnosis: Diagnosis) -> list[str]:
    """Return what fires on a program and is neither in the table nor explained, each as `signature of entry`."""
    known = {(cell.owner, name) for cell in read_table() if cell.program == program for name in cell.signatures}
    fired = {(cell.owner, name) for cell in cells(program, diagnosis) for name in cell.signatures}
    return sorted(f"{name} of {owner}" for owner, name in fired - known if not explained(program, owner, name))


def explained(program: str, owner: str, signature: str) -> bool:
    """Whether a signature's firing on a program is its own entry's, or explained."""
    if program == owner or program in owners().get(signature, ()):
        # Two entries that both name the signature share it; which of them it is, other evidence decides.
        return True
    return any(r.signature == signature and (not r.programs or program in r.programs) for r in reasons())
