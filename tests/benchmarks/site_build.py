"""Measures how long the site takes to build and what it weighs: `python tests/benchmarks/site_build.py`.

Builds the built-in catalogue several times, each time in a fresh process like `distkb site build`, and prints medians
by the clock and by processor time, then the weight of the site and of its heaviest
pages, compressed as servers send them. Fails when the builds differ, or where the clock is above the budget.
"""

# ruff: noqa: T201 - a program that prints

from __future__ import annotations

import argparse
import gzip
import hashlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BUDGET = 6.0
"""Seconds by the clock for the whole catalogue, on two processors."""
SHOWN = 5


def build(out: Path) -> tuple[float, float]:
    """Build once and return seconds by the clock and of processors."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-m", "distkb", "site", "build", "--out", out], check=True, capture_output=True)
    seconds = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def digest(out: Path) -> str:
    """Return a digest of every path and content of a site."""
    found = hashlib.sha256()
    for path in sorted(out.rglob("*")):
        if path.is_file():
            found.update(str(path.relative_to(out)).encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


def main() -> int:
    """Build, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "site"
        times, digests = [], set()
        for _ in range(rounds):
            times.append(build(out))
            digests.add(digest(out))
        clock, processor = (statistics.median(column) for column in zip(*times, strict=True))
        files = [path for path in out.rglob("*") if path.is_file()]
        pages = [path for path in files if path.suffix == ".html"]
        print(f"build: {clock:.2f} s by the clock, {processor:.2f} s of processors (median of {rounds})")
        print(f"site: {len(pages)} pages, {sum(path.stat().st_size for path in files) / 1e6:.1f} MB")
        heaviest = sorted(((len(gzip.compress(path.read_bytes(), 9)), path) for path in pages), reverse=True)
        for size, path in heaviest[:SHOWN]:
            print(f"  {size / 1000:5.1f} kB  {path.relative_to(out)}")
    if len(digests) > 1:
        print("the builds differ", file=sys.stderr)
    return int(len(digests) > 1 or clock > BUDGET)


if __name__ == "__main__":
    sys.exit(main())
