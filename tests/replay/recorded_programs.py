"""Prints how often the answer on recorded failing programs is right, from logs, with the script and with stacks.

    python tests/replay/recorded_programs.py

The programs stand in `tests/replay/data/programs`: each was written after a cause of the catalogue by somebody who knew
neither the readers nor the words of the answer. They have been looked into since, so the figures show changes only.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from distkb import intake
from distkb.catalogue.places import cache_directory
from distkb.diagnosis.batch import diagnose
from distkb.diagnosis.conclude import entry_probabilities
from distkb.diagnosis.guide import Guide

if TYPE_CHECKING:
    from distkb.catalogue.model import Catalogue
    from distkb.search.index import Index

PROGRAMS = Path(__file__).parent / "data" / "programs"


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of one program."""

    cause: str
    accept: tuple[str, ...]
    """Entries that are right as a first answer."""
    fix: str
    """The edit that repairs it."""
    decides: str
    """What a person reads the cause from."""


class Place(NamedTuple):
    """Where the cause came in one answer, and how sure the answer was."""

    name: str
    rank: int
    verdict: str


def case_of(folder: Path) -> Case:
    """Read what is known of a program."""
    return msgspec.json.decode((folder / "case.json").read_bytes(), type=Case)


def modes(folder: Path) -> dict[str, list[Path]]:
    """Return what is given of one program, by the name of the row that it counts in."""
    logs, script, stacks = folder / "logs", folder / "script", folder / "stacks"
    given = {"logs": [logs], "logs and script": [logs, script]}
    if stacks.is_dir():
        given |= {"logs and stacks": [logs, stacks], "all": [logs, script, stacks]}
    return given


def places(catalogue: Catalogue, index: Index, guide: Guide) -> dict[str, list[Place]]:
    """Diagnose every program in every way of asking."""
    rows: dict[str, list[Place]] = defaultdict(list)
    for folder in sorted(PROGRAMS.iterdir()):
        accept = case_of(folder).accept
        for mode, paths in modes(folder).items():
            evidence = intake.read(catalogue, paths, index=lambda: index, cache_dir=cache_directory())
            answer = diagnose(guide, evidence)
            ranked = list(entry_probabilities(answer))
            rank = 1 + min(ranked.index(entry) for entry in accept)
            rows[mode].append(Place(folder.name, rank, answer.verdict))
    return rows


def main() -> None:
    """Print one line for each way of asking."""
    from distkb.cli.knowledge import search_index
    from distkb.knowledge import open_knowledge

    compiled = open_knowledge()
    catalogue = compiled.catalogue()
    for mode, found in places(catalogue, search_index(compiled), Guide(catalogue)).items():
        said = [f"{name} {mean(place.rank <= n for place in found):.2f}" for name, n in (("first", 1), ("in three", 3))]
        for verdict in ("named", "leading"):
            right = [place.rank == 1 for place in found if place.verdict == verdict]
            said.append(f"{verdict} {len(right)}, right {sum(right)}")
        print(f"{mode:16} n {len(found):3}  " + "  ".join(said))  # noqa: T201 - the answer of a script


if __name__ == "__main__":
    main()
