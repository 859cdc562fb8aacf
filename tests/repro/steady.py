"""Runs the catalogue's programs again and again under conditions that may change what they leave behind.

    python tests/repro/steady.py                                    each condition once, all programs
    python tests/repro/steady.py --only D21 D54 --times 5           five times each, these entries
    python tests/repro/steady.py --conditions busy --fixed          beside two busy processes per core, fixed ones too

The conditions: `usual`; `early-stacks`, taken after half a second of silence instead of two; `one-snapshot`, the same
with only the first of each rank's snapshots, so that nothing is seen to move; `no-stacks`; `busy`, with two processes
per core that only count. An answer that holds under all of them does not hang on how fast the machine is. It prints
each run that is not as its entry says, and at the end the entries whose lead was smallest.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from crossfire import unexplained_on
from reproductions import available, catalogue, diagnosed, reproduce, with_program

from distkb.catalogue.model import Entry
from distkb.repro import launch, verdict

QUIET_S = {"usual": 2.0, "early-stacks": 0.5, "one-snapshot": 0.5, "no-stacks": 0.0, "busy": 2.0}
"""Seconds of silence after which the stacks are taken; 0 for never."""
BURNERS_PER_CORE = 2
BURNER = """
import os
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(1_000_000):
        pass
"""
say = print
NARROW = 0.1
"""Leads below this are listed at the end."""


@dataclasses.dataclass(frozen=True)
class Result:
    """One run."""

    entry: str
    condition: str
    complaints: tuple[str, ...] = ()
    lead: float | None = None
    """Probability of the entry less that of the best other; None for a fixed run."""
    ranked: tuple[tuple[str, float], ...] = ()
    stacks: int = 0


def carry_out(entry: Entry, condition: str, folder: Path, *, fixed: bool) -> Result:
    """Run a program once and judge it as the tests do."""
    program = available(entry).program
    assert program is not None
    run = reproduce(program, folder, fixed=fixed)
    if condition == "one-snapshot":
        keep_first_snapshots(folder / launch.STACKS)
    diagnosis = diagnosed(run.artifacts)
    ended = [run.reason] if run.reason else ["timed-out"] if run.timed_out else []
    if fixed:
        judged = verdict.fixed(entry, diagnosis, catalogue(), succeeded=run.succeeded)
        complaints = [f"fixed: {c}" for c in judged.complaints] + [f"found {name}" for name in judged.shown]
        return Result(entry.id, condition, (*ended, *complaints))
    judged = verdict.broken(entry, diagnosis)
    complaints = [*judged.complaints, *(f"unexplained {one}" for one in unexplained_on(entry.id, diagnosis))]
    own = dict(judged.ranked).get(entry.id, 0.0)
    lead = own - max((p for name, p in judged.ranked if name != entry.id), default=0.0)
    return Result(entry.id, condition, (*ended, *complaints), lead, judged.ranked[:3], run.stacks)


def keep_first_snapshots(folder: Path) -> None:
    """Take all snapshots but the first out of each rank's dump."""
    for path in folder.glob("*.json"):
        dump = json.loads(path.read_bytes())
        dump["snapshots"] = dump["snapshots"][:1]
        path.write_text(json.dumps(dump), encoding="utf-8")


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Keep the cores busy with as many processes as given."""
    burners = [subprocess.Popen([sys.executable, "-c", BURNER]) for _ in range(processes)]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


def tell(result: Result) -> None:
    """Print what is not as stated."""
    first = "  ".join(f"{name} {p:.2f}" for name, p in result.ranked)
    what = "; ".join(result.complaints)
    say(f"{result.entry:<6} {result.condition:<13} {what}  [{first}]  {result.stacks} stacks", flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Run what is asked for; 1 if something was not as stated."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="ID")
    parser.add_argument("--conditions", nargs="+", choices=sorted(QUIET_S), default=list(QUIET_S))
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--fixed", action="store_true", help="run the fixed programs as well")
    parser.add_argument("--keep", type=Path, help="keep the artifacts of runs that are not as stated here")
    options = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the scratch folder and the burners go with it
    entries = [e for e in with_program() if not options.only or e.id in options.only]
    entries = [e for e in entries if available(e).reason is None]
    results: list[Result] = []
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="distkb-steady-") as scratch:
        for condition in options.conditions:
            launch.QUIET_S = QUIET_S[condition]

            def one(job: tuple[int, Entry, bool], condition: str = condition) -> Result:
                number, entry, fixed = job
                folder = Path(scratch) / f"{condition}-{entry.id}-{number}-{'fixed' if fixed else 'broken'}"
                result = carry_out(entry, condition, folder, fixed=fixed)
                if result.complaints:
                    tell(result)
                    if options.keep:
                        shutil.copytree(folder, options.keep / folder.name, dirs_exist_ok=True)
                shutil.rmtree(folder, ignore_errors=True)
                return result

            forms = (False, True) if options.fixed else (False,)
            jobs = [(n, entry, fixed) for n in range(options.times) for entry in entries for fixed in forms]
            burners = BURNERS_PER_CORE * (os.cpu_count() or 1) if condition == "busy" else 0
            with busy(burners), ThreadPoolExecutor(options.jobs) as pool:
                results += pool.map(one, jobs)
            say(f"-- {condition}: {len(jobs)} runs, {time.monotonic() - began:.0f} s so far", flush=True)
    leads = {
        e.id: min((r.lead, r.condition) for r in results if r.entry == e.id and r.lead is not None) for e in entries
    }
    for name, (lead, condition) in sorted(leads.items(), key=lambda pair: pair[1]):
        if lead < NARROW:
            say(f"{name:<6} leads by {lead:+.2f} ({condition})")
    failed = sum(bool(r.complaints) for r in results)
    say(f"{len(results)} runs, {failed} not as stated, {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
