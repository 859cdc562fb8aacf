"""Runs the catalogue's programs again and again under conditions that may change what they leave behind.

    python tests/repro/steady.py                                    each condition once, all programs
    python tests/repro/steady.py --only D21 D54 --times 5           five times each, these entries
    python tests/repro/steady.py --conditions busy --fixed          beside two busy processes per core, fixed ones too
    python tests/repro/steady.py --fixed --keep runs --all          keep what every run left, with how it ended
    python tests/repro/steady.py --again runs                       judge it anew, by the catalogue as it is now

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
from reproductions import DONE, available, catalogue, diagnosed, read_run, reproduce, with_program, write_run

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
ARTIFACTS = "artifacts"
"""In the folder of a run: what the program left. How it ended stands beside."""
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
    """Run a program once and judge it as the tests do; how it ended is kept beside its artifacts."""
    program = available(entry).program
    assert program is not None
    run = reproduce(program, folder / ARTIFACTS, fixed=fixed)
    if condition == "one-snapshot":
        keep_first_snapshots(run.artifacts / launch.STACKS)
    write_run(run, folder)
    return judge(entry, condition, folder, fixed=fixed)


def judge(entry: Entry, condition: str, folder: Path, *, fixed: bool) -> Result:
    """Judge what a run left in a folder."""
    run = read_run(folder)
    diagnosis = diagnosed(folder / ARTIFACTS)
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


def judged_again(kept: Path, only: Sequence[str]) -> list[Result]:
    """Judge what `--keep --all` kept, by the catalogue as it is now, and print what is not as stated."""
    entries = {entry.id: entry for entry in with_program()}
    results = []
    for ended in sorted(kept.glob(f"*/{DONE}")):
        condition, name, _, form = ended.parent.name.rsplit("-", 3)
        if name in entries and (not only or name in only):
            results.append(judge(entries[name], condition, ended.parent, fixed=form == "fixed"))
            if results[-1].complaints:
                tell(results[-1])
    return results


def carried_out(options: argparse.Namespace) -> list[Result]:
    """Run what is asked for and print what is not as stated."""
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
                if options.keep and (options.all or result.complaints):
                    shutil.copytree(folder, options.keep / folder.name, dirs_exist_ok=True)
                shutil.rmtree(folder, ignore_errors=True)
                return result

            forms = (False, True) if options.fixed else (False,)
            jobs = [(n, entry, fixed) for n in range(options.times) for entry in entries for fixed in forms]
            burners = BURNERS_PER_CORE * (os.cpu_count() or 1) if condition == "busy" else 0
            with busy(burners), ThreadPoolExecutor(options.jobs) as pool:
                results += pool.map(one, jobs)
            say(f"-- {condition}: {len(jobs)} runs, {time.monotonic() - began:.0f} s so far", flush=True)
    return results


def main(argv: Sequence[str] | None = None) -> int:
    """Run what is asked for; 1 if something was not as stated."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="ID")
    parser.add_argument("--conditions", nargs="+", choices=sorted(QUIET_S), default=list(QUIET_S))
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--fixed", action="store_true", help="run the fixed programs as well")
    parser.add_argument("--keep", type=Path, help="keep the artifacts of runs that are not as stated here")
    parser.add_argument("--all", action="store_true", help="keep those of every run")
    parser.add_argument("--again", type=Path, metavar="KEPT", help="run nothing; judge what was kept there anew")
    options = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the scratch folder and the burners go with it
    began = time.monotonic()
    results = judged_again(options.again, options.only or ()) if options.again else carried_out(options)
    if not results:
        parser.error("there is nothing to judge")
    least: dict[str, tuple[float, str]] = {}
    for result in results:
        if result.lead is not None:
            least[result.entry] = min(least.get(result.entry, (1.0, "")), (result.lead, result.condition))
    for name, (lead, condition) in sorted(least.items(), key=lambda pair: pair[1]):
        if lead < NARROW:
            say(f"{name:<6} leads by {lead:+.2f} ({condition})")
    failed = sum(bool(r.complaints) for r in results)
    say(f"{len(results)} runs, {failed} not as stated, {time.monotonic() - began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
