"""Prints how well the session's questions lead to the cause, for every entry.

    python tests/benchmarks/simulated_users.py [--sessions 3] [--seed 1] [--start described]

Every cause is the truth in turn; the user answers by the catalogue's own likelihoods with 10 % noise, and a session
ends when a fix helped or nothing fits. `1st`: the truth was most probable when the first fix was proposed; `end`: when
the session ended; `reached`: a fix of the true cause was tried. The right fix fails as often as its `works` says, so
not every session can end with it.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from random import Random
from statistics import mean, median

from distkb.diagnosis.guide import Guide
from distkb.diagnosis.simulate import SimulatedSession, User, simulate
from distkb.knowledge import open_knowledge

COLUMNS = (
    "entry 1st",
    "cause 1st",
    "entry end",
    "cause end",
    "reached",
    "fixed",
    "questions",
    "to 1st fix",
    "steps",
    "fixes",
)


def main() -> None:
    """Simulate every cause and print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sessions", type=int, default=3, help="sessions for each cause")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--start", choices=("nothing", "described"), default="nothing")
    options = parser.parse_args()
    guide = Guide(open_knowledge().catalogue())
    runs: dict[str, list[SimulatedSession]] = defaultdict(list)
    for hypothesis in guide.table.hypotheses:
        if hypothesis.entry is not None:
            random = Random(f"{options.seed} {hypothesis.id}")
            start = User.describe if options.start == "described" else User.say_nothing
            runs[hypothesis.entry.id] += [simulate(guide, hypothesis, random, start) for _ in range(options.sessions)]
    show("entry", "sessions", *COLUMNS)
    for name, group in runs.items():
        show(name, len(group), *figures(group))
    everything = [run for group in runs.values() for run in group]
    show("all", len(everything), *figures(everything))
    longest = max(len(run.session.events) for run in everything)
    endless = sum(run.ended == "endless" for run in everything)
    sys.stdout.write(f"longest session: {longest} events; endless: {endless}\n")


def figures(runs: list[SimulatedSession]) -> list[str]:
    """Return the cells of one line: shares, then medians."""
    shares = [
        mean(run.entry_first for run in runs),
        mean(run.first == run.truth for run in runs),
        mean(run.entry_last for run in runs),
        mean(run.last == run.truth for run in runs),
        mean(run.reached for run in runs),
        mean(run.ended == "done" for run in runs),
    ]
    medians = [
        median(run.all_questions for run in runs),
        median(run.questions for run in runs),
        median(run.taken for run in runs),
        median(run.fixes for run in runs),
    ]
    return [*(f"{share:.3f}" for share in shares), *(f"{number:g}" for number in medians)]


def show(name: object, number: object, *cells: str) -> None:
    """Print one line of the table."""
    sys.stdout.write(f"{name:<6} {number:>8} " + " ".join(f"{cell:>10}" for cell in cells) + "\n")


if __name__ == "__main__":
    main()
