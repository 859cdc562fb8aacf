"""Prints how long choosing the next step takes with 500 causes and 300 observations: the limit is 10 ms.

python tests/benchmarks/next_step.py [repetitions]
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random
from statistics import median
from time import process_time

sys.path.insert(0, str(Path(__file__).parents[1] / "diagnosis"))

from session_catalogues import large_guide

from distkb.diagnosis.propose import propose
from distkb.diagnosis.session import Answered, Event


def milliseconds(repetitions: int = 20) -> tuple[float, float]:
    """Return median processor times of the choice: at the start of a session, and after three answers."""
    guide = large_guide(Random(1), causes=500, signatures=250, facts=50)
    times: list[list[float]] = [[], []]
    answers: tuple[Event, ...] = tuple(Answered(question=f"fact{n}", values=("a",)) for n in range(3))
    for which, events in enumerate(((), answers)):
        known = guide.known(events)
        posterior = guide.belief_after(events).posterior
        propose(guide, known, posterior)
        for _ in range(repetitions):
            begin = process_time()
            propose(guide, known, posterior)
            times[which].append(1000.0 * (process_time() - begin))
    return median(times[0]), median(times[1])


if __name__ == "__main__":
    first, later = milliseconds(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
    sys.stdout.write(
        f"500 causes, 300 observations: {first:.1f} ms at the start, {later:.1f} ms after three answers (median)\n"
    )
