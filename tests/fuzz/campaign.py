"""Feeds every reader with damaged and with growing inputs: `python tests/fuzz/campaign.py [SECONDS] [TARGET...]`.

Each target gets its share of the seconds (of processor time), and in CI far fewer. An input that raises, that takes
more than two seconds or 300 MB, or whose time grows much faster than its length is printed, and kept in
`tests/fuzz/kept`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import resource
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))
from mutate import mutated, pumps
from readers import KEPT, TARGETS, quiet, seeds

SLOWEST_S = 2.0
MOST_MB = 300
LENGTHS = (1 << 13, 1 << 14, 1 << 15)
"""Bytes of a growing input: so many, twice, and four times as many."""
LIMIT_MB = 3000
"""Of addresses: what takes more raises a MemoryError where a campaign feeds it, and does not end the campaign."""
LIMIT_S = 60
"""Of processor time of one input, after which it is given up."""
NOTABLE_S = 0.3
"""Below that growth is noise."""
GROWTH = 3.2
"""Times that twice the input may take: two is linear, four is quadratic."""


class Fault(NamedTuple):
    """What an input brought out."""

    target: str
    what: str
    data: bytes


class Tally:
    """How many inputs were fed, and what they brought out."""

    def __init__(self) -> None:
        self.inputs = 0
        self.slowest = 0.0
        self.faults: list[Fault] = []

    def feed(self, name: str, data: bytes) -> float:
        """Feed one input; return the seconds of processor time that it took."""
        self.inputs += 1
        memory, began = _memory(), time.process_time()
        try:
            with quiet(), _limited():
                TARGETS[name](data)
        except Exception:  # noqa: BLE001 - whatever it is, it is what is looked for
            self._note(Fault(name, traceback.format_exc(limit=-4), data))
        took = time.process_time() - began
        self.slowest = max(self.slowest, took)
        if took > SLOWEST_S:
            self._note(Fault(name, f"{took:.1f} s", data))
        if _memory() - memory > MOST_MB:
            self._note(Fault(name, f"{_memory() - memory:.0f} MB", data))
        return took

    def _note(self, fault: Fault) -> None:
        """Keep a fault, but for what is already there from another input."""
        if all((one.target, one.what) != (fault.target, fault.what) for one in self.faults):
            self.faults.append(fault)


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    """Raise where what is inside takes longer than any input may, or where a reader fails."""
    told = os.environ.get("DISTKB_TRACEBACK")
    os.environ["DISTKB_TRACEBACK"] = "1"  # what a guard would make a note of is raised
    before = signal.signal(signal.SIGVTALRM, _too_long)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        os.environ.pop("DISTKB_TRACEBACK")
        if told is not None:
            os.environ["DISTKB_TRACEBACK"] = told


def _too_long(*_: object) -> None:
    raise TimeoutError(f"more than {LIMIT_S} s")


def _memory() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024 if sys.platform == "linux" else peak / (1 << 20)


def run(name: str, seconds: float, seed: int, tally: Tally) -> None:
    """Feed one target for some seconds of processor time, at least once."""
    source = random.Random(f"{name} {seed}")
    start = list(seeds(name))
    with quiet(), contextlib.suppress(Exception):
        TARGETS[name](start[-1])  # what is compiled once
    for data in (b"", *start):
        tally.feed(name, data)
    until = time.process_time() + seconds
    while time.process_time() < until:
        for _ in range(8):
            tally.feed(name, mutated(source, start))
        grow(name, *pumps(source, start), tally)


def grow(name: str, before: bytes, piece: bytes, behind: bytes, tally: Tally) -> None:
    """Feed one input, then one of twice and of four times the length where the first took long enough to compare."""
    times: list[float] = []
    for length in LENGTHS:
        data = before + piece * (length // len(piece)) + behind
        times.append(tally.feed(name, data))
        if times[-1] < NOTABLE_S / 8 or len(tally.faults) > 50:
            return
    if times[2] > NOTABLE_S and times[2] > GROWTH * times[1] > GROWTH * GROWTH * times[0]:
        tally.faults.append(Fault(name, f"grows: {times}", data))


def keep(faults: Sequence[Fault]) -> Iterator[Path]:
    """Write what was found beside the tests, where it is fed first from then on."""
    for fault in faults:
        path = KEPT / fault.target / hashlib.sha256(fault.data).hexdigest()[:12]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(fault.data)
        yield path


def main() -> None:
    """Run it by hand, for as long as it is asked to."""
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT_MB << 20, LIMIT_MB << 20))
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    names = sys.argv[2:] or list(TARGETS)
    seed = time.time_ns()
    inputs = faults = 0
    for name in names:
        tally = Tally()
        run(name, seconds / len(names), seed, tally)
        print(f"{name}: {tally.inputs:,} inputs, slowest {tally.slowest:.2f} s, peak {_memory():.0f} MB", flush=True)  # noqa: T201
        for fault, path in zip(tally.faults, keep(tally.faults), strict=True):
            print(f"  {path.name}: {fault.what}", flush=True)  # noqa: T201
        inputs, faults = inputs + tally.inputs, faults + len(tally.faults)
    print(f"{inputs:,} inputs, {faults} faults (seed {seed})")  # noqa: T201
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
