"""Runs the catalogue's programs and records anew what comes out of them; prints what has changed.

    python tests/repro/refresh.py                                   all programs
    python tests/repro/refresh.py --only D21 D9 I1                  only these entries and incidents
    python tests/repro/refresh.py --incidents                       all programs and all incidents
    python tests/repro/refresh.py --python ~/torch-2.15/bin/python --check     another torch; nothing is written

It writes `seen.json` (what is observed on each program), `crossfire.txt` (whose signatures those are), `recorded/`
(what the programs left, see `replay.py`) and, if asked to, the logs of `kb/incidents`. A program that does not fail as
its entry says is named and keeps its old record; it, or one that is not clean with its fix, makes the exit code 1.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
from crossfire import TABLE, cells_of, explained, write_table
from recording import record
from reproductions import KB, available, catalogue, diagnosed, reproduce, with_program

from distkb.catalogue.incident import load_incidents
from distkb.catalogue.model import Entry
from distkb.diagnosis.model import Diagnosis
from distkb.repro import verdict
from distkb.repro.program import modules
from replay import keep

SEEN = Path(__file__).with_name("seen.json")


class Record(msgspec.Struct, frozen=True):
    """What came out of one program."""

    torch: str
    seen: dict[str, str]
    """Signature or finding → the line that shows it, without its numbers and paths."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    """One entry, run broken and fixed."""

    entry: Entry
    skipped: str | None = None
    complaints: tuple[str, ...] = ()
    record: Record | None = None


def read_seen() -> dict[str, Record]:
    """Return what was recorded last, by entry."""
    return msgspec.json.decode(SEEN.read_bytes(), type=dict[str, Record]) if SEEN.exists() else {}


def carry_out(entry: Entry, scratch: Path, python: Path, *, check: bool) -> Outcome:
    """Run an entry's program both ways; unless only checking, keep what the broken one left."""
    found = available(entry, python)
    if found.reason is not None or found.program is None:
        return Outcome(entry, skipped=found.reason)
    complaints: list[str] = []
    folder = scratch / entry.id
    run = reproduce(found.program, folder / "broken", fixed=False, python=python)
    diagnosis = diagnosed(run.artifacts)
    complaints += [] if run.reason is None else [run.reason]
    complaints += verdict.broken(entry, diagnosis).complaints
    torch = modules(python).get("torch", "?")
    record = None if complaints else Record(torch=torch, seen=shown(diagnosis))
    if record is not None and not check:
        keep(found.program, run, python, torch)
    repaired = reproduce(found.program, folder / "fixed", fixed=True, python=python)
    judged = verdict.fixed(entry, diagnosed(repaired.artifacts), catalogue(), succeeded=repaired.succeeded)
    complaints += [f"fixed: {complaint}" for complaint in judged.complaints]
    shutil.rmtree(folder)
    return Outcome(entry, complaints=tuple(complaints), record=record)


def shown(diagnosis: Diagnosis) -> dict[str, str]:
    """Return each observation with the line that shows it."""
    found = {}
    for observation in sorted(verdict.said(diagnosis), key=lambda o: o.id):
        quotes = observation.quotes
        found[observation.id] = general(quotes[0].text) if quotes else ""
    return found


def general(line: str) -> str:
    """Return a line without what differs from run to run."""
    line = re.sub(r"(?:/[\w.+=@-]+)+/", "…/", line)
    line = re.sub(r"\b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b", "#", line)
    return re.sub(r"\d+(?:[.:]\d+)*", "#", line)[:200]


def differences(before: Record | None, after: Record) -> list[str]:
    """Return what appears, disappears, and reads otherwise."""
    if before is None:
        return [f"  new, {len(after.seen)} observations"]
    lines = [f"  + {name}: {after.seen[name]}" for name in after.seen if name not in before.seen]
    lines += [f"  - {name}: {before.seen[name]}" for name in before.seen if name not in after.seen]
    for name in before.seen.keys() & after.seen.keys():
        if before.seen[name] != after.seen[name]:
            lines += [f"  ~ {name}", f"      was {before.seen[name]}", f"      is  {after.seen[name]}"]
    return lines


def write(records: dict[str, Record]) -> None:
    """Write the record and the table that follows from it; programs that are no more are left out."""
    order = [entry.id for entry in with_program()]
    kept = {name: records[name] for name in order if name in records}
    SEEN.write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n")
    TABLE.write_text(write_table(cell for name in order if name in kept for cell in cells_of(name, kept[name].seen)))


def unexplained(records: dict[str, Record]) -> list[str]:
    """Return the cells of the table that nothing explains."""
    rows = [cell for name in records for cell in cells_of(name, records[name].seen)]
    return [
        f"{cell.program}: {cell.owner} {name}"
        for cell in rows
        for name in cell.signatures
        if not explained(cell.program, cell.owner, name)
    ]


def main(arguments: Sequence[str]) -> int:
    """Run, compare, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="the Python that has torch")
    parser.add_argument("--only", nargs="+", metavar="ID", help="entries and incidents")
    parser.add_argument("--incidents", action="store_true", help="record the logs of all incidents too")
    parser.add_argument("--jobs", type=int, default=2, help="programs at a time")
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args(arguments)
    python = options.python.absolute()
    say = print
    say(f"torch {modules(python).get('torch', 'is not there')} under {python}")
    chosen = [entry for entry in with_program() if not options.only or entry.id in options.only]
    records, failed = read_seen(), False
    with tempfile.TemporaryDirectory(prefix="refresh-") as scratch, ThreadPoolExecutor(options.jobs) as pool:
        work = functools.partial(carry_out, scratch=Path(scratch), python=python, check=options.check)
        for outcome in pool.map(work, chosen):
            failed |= bool(outcome.complaints)
            state = outcome.skipped or ", ".join(outcome.complaints) or "as its entry says"
            say(f"{outcome.entry.id}: {state}", flush=True)
            if outcome.record is not None:
                for line in differences(records.get(outcome.entry.id), outcome.record):
                    say(line, flush=True)
                records[outcome.entry.id] = outcome.record
        if not options.check:
            write(records)
            for found in load_incidents([KB])[0]:
                if options.incidents or found.incident.id in (options.only or ()):
                    for folder in record(found, Path(scratch) / found.incident.id, python):
                        say(f"{found.incident.id}: recorded {folder.relative_to(KB.parent)}")
    for cell in unexplained(records):
        say(f"unexplained in crossfire.yaml: {cell}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
