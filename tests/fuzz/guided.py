"""Feeds a target with inputs that Atheris makes of what they reach: `python tests/fuzz/guided.py TARGET [SECONDS]`.

Atheris is no dependency of ours: `pip install atheris` where it can be. What is found is kept as `campaign.py` keeps
it, and now and then an input is made to grow.
"""

from __future__ import annotations

import importlib
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from campaign import Tally, grow, keep
from mutate import pumps
from readers import TARGETS, seeds

SAID_S = 20.0
"""Seconds between two lines about how far it is."""


class Guided:
    """What Atheris calls: feeds an input, and keeps at once what it brought out."""

    def __init__(self, name: str) -> None:
        """Take the name of a target."""
        self._name = name
        self._tally = Tally()
        self._source = random.Random(name)
        self._kept = 0
        self._said = time.monotonic()

    def __call__(self, data: bytes) -> None:
        """Feed one input."""
        tally = self._tally
        tally.feed(self._name, data)
        if data and tally.inputs % 64 == 0:
            grow(self._name, *pumps(self._source, [data]), tally)
        for path in keep(tally.faults[self._kept :]):
            fault = tally.faults[self._kept]
            self._kept += 1
            print(f"{self._name} {path.name}: {fault.what}", flush=True)  # noqa: T201
        if time.monotonic() - self._said > SAID_S:
            self._said = time.monotonic()
            print(f"{self._name}: {tally.inputs} inputs, {len(tally.faults)} faults", flush=True)  # noqa: T201


def main() -> None:
    """Feed one target for so many seconds."""
    atheris = importlib.import_module("atheris")
    name = sys.argv[1]
    seconds = sys.argv[2] if len(sys.argv) > 2 else "60"
    start = list(seeds(name))
    with atheris.instrument_imports(include=["distkb", "distkb_probes"]):
        for data in start:
            TARGETS[name](data)
    corpus = tempfile.mkdtemp(prefix=f"distkb-corpus-{name}-")
    for number, data in enumerate(start):
        (Path(corpus) / f"seed-{number}").write_bytes(data)
    options = [f"-max_total_time={seconds}", "-max_len=16384", "-rss_limit_mb=0", "-timeout=60", "-print_final_stats=1"]
    atheris.Setup([sys.argv[0], *options, corpus], Guided(name))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
