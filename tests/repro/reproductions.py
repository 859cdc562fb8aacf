"""Runs the programs of the catalogue for tests: each once broken and once fixed, whoever asks, on whatever worker."""

from __future__ import annotations

import fcntl
import functools
import sys
from pathlib import Path

import msgspec

from distkb.catalogue.cache import open_compiled
from distkb.catalogue.model import Catalogue, Entry
from distkb.catalogue.places import cache_directory
from distkb.diagnosis.batch import diagnose
from distkb.diagnosis.guide import Guide
from distkb.diagnosis.model import Diagnosis
from distkb.intake import read
from distkb.knowledge import build_extra
from distkb.repro.outcome import ProgramRun
from distkb.repro.program import Availability, Program, availability
from distkb.repro.run import Reproduction

KB = Path(__file__).resolve().parents[2] / "kb"
DONE = "run.json"


@functools.cache
def catalogue() -> Catalogue:
    """The built-in catalogue."""
    return open_compiled([KB], build_extra).catalogue()


@functools.cache
def guide() -> Guide:
    """Its likelihoods."""
    return Guide(catalogue())


def with_program() -> list[Entry]:
    """The entries whose failure is shown by a program, in order of id."""
    return [entry for entry in catalogue().entries if entry.repro is not None and entry.repro.kind != "hw"]


def with_recording() -> list[Entry]:
    """The entries whose failure needs hardware and is shown by what was recorded."""
    return [entry for entry in catalogue().entries if entry.repro is not None and entry.repro.kind == "hw"]


def available(entry: Entry, python: Path | None = None) -> Availability:
    """Whether the entry's program can run here."""
    return availability(entry, [KB], python or Path(sys.executable))


def reproduce(program: Program, artifacts: Path, *, fixed: bool, python: Path | None = None) -> ProgramRun:
    """Run a program to its end."""
    return Reproduction(program, artifacts, python or Path(sys.executable), fixed=fixed).result()


def reproduced(entry: Entry, shared: Path, *, fixed: bool) -> ProgramRun:
    """Run the entry's program, or return the run that another test has made; `shared` is the session's folder."""
    program = available(entry).program
    assert program is not None
    place = shared / f"{entry.id}-{'fixed' if fixed else 'broken'}"
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / DONE).exists():
            run = reproduce(program, place / "artifacts", fixed=fixed)
            write_run(run, place)
        return read_run(place)


def write_run(run: ProgramRun, folder: Path) -> None:
    """Write down in a folder how a run ended."""
    (folder / DONE).write_bytes(msgspec.json.encode(run, enc_hook=str))


def read_run(folder: Path) -> ProgramRun:
    """Read what `write_run` has written."""
    return msgspec.json.decode((folder / DONE).read_bytes(), type=ProgramRun, dec_hook=_path)


def _path(kind: type, value: object) -> object:
    return kind(value)


@functools.cache
def diagnosed(folder: Path) -> Diagnosis:
    """The answer for a folder of artifacts, from nothing else."""
    return diagnose(guide(), read(catalogue(), [folder], cache_dir=cache_directory()))
