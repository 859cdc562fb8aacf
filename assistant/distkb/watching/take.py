"""Takes the stacks of all ranks, and the flight recorder's dumps that lie about."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from distkb.evidence.readers.flight_recorder import find_flight_recorder
from distkb.evidence.readers.stacks.documents import from_saved
from distkb.evidence.readers.stacks.model import Dump
from distkb.probing.document import RawDocument
from distkb.probing.run import ProbeRun
from distkb.watching.processes import directory_of, environment_of

DEADLINE_S = 30.0
_RECORDER_NAMES = ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE")
_RECORDER_PLACES = ("~/.cache/torch", "~/.cache/fr_trace")


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """What was taken of the ranks."""

    documents: tuple[dict[str, Any], ...] = ()
    """`distkb.stacks/1`, one a rank."""
    raw: RawDocument

    def dumps(self) -> list[Dump]:
        """Return the documents as the readers of stacks take them."""
        found = (from_saved(document, f"/proc/{document.get('pid')}") for document in self.documents)
        return [dump for dump in found if dump is not None]


def take(pids: Sequence[int], python: Path) -> Taken:
    """Take the stacks of these ranks twice; nothing is paused, and no signal is sent."""
    request = {"pids": list(pids), "tools": [str(Path(sys.executable).parent / "py-spy")]}
    raw = ProbeRun("stacks", request, python, deadline_s=DEADLINE_S).result()
    dumps = raw.facts.get("dumps")
    documents = tuple(d for d in dumps if isinstance(d, dict)) if isinstance(dumps, list) else ()
    return Taken(documents=documents, raw=raw)


def recorder_dumps(pids: Sequence[int], since: float) -> list[Path]:
    """Return the dumps that the ranks' flight recorders wrote since a moment (time.time)."""
    places: dict[Path, None] = {}
    for pid in pids:
        environment = environment_of(pid)
        directory = directory_of(pid) or Path()
        named = [environment[name] for name in _RECORDER_NAMES if environment.get(name)]
        home = environment.get("HOME", "")
        usual = [place.replace("~", home) for place in _RECORDER_PLACES] if home else []
        for place in (*(Path(directory, name).parent for name in named), *map(Path, usual)):
            places.setdefault(place)
    found = find_flight_recorder([place for place in places if place.is_dir()])
    return [path for path in found if _written(path) >= since]


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return -1.0
