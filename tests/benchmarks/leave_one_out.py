"""Prints how much the answers on labelled reports lean on signatures that only that one report supports.

    python tests/benchmarks/leave_one_out.py CASES.jsonl

A signature that fires on one report of a collection only may have been written for it. Each case is diagnosed as it
is, and again without the observations that no other case has: a catalogue that was fitted case by case falls apart.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import msgspec

from distkb import intake
from distkb.catalogue.places import cache_directory
from distkb.cli.knowledge import search_index
from distkb.diagnosis.batch import diagnose
from distkb.diagnosis.conclude import entry_probabilities
from distkb.diagnosis.guide import Guide
from distkb.evaluation import read_cases
from distkb.knowledge import open_knowledge


def main(path: Path) -> None:
    """Diagnose every case twice and print the shares that are right."""
    compiled = open_knowledge()
    catalogue = compiled.catalogue()
    index = search_index(compiled)
    guide = Guide(catalogue)
    entries = {entry.id for entry in catalogue.entries}
    cases = [case for case in read_cases(path) if entries & set(case.accept)]
    evidence = {
        case.id: intake.read(catalogue, [], report=case.report, index=lambda: index, cache_dir=cache_directory())
        for case in cases
    }
    seen = Counter(o.id for one in evidence.values() for o in one.observations if o.present)
    signatures = {signature.id for signature in catalogue.signatures}
    single = {identity for identity, count in seen.items() if count == 1 and identity in signatures}
    right: Counter[str] = Counter()
    changed: list[str] = []
    for case in cases:
        ranks = []
        for name, dropped in (("all", frozenset[str]()), ("without", frozenset(single))):
            kept = tuple(o for o in evidence[case.id].observations if o.id not in dropped)
            answer = diagnose(guide, msgspec.structs.replace(evidence[case.id], observations=kept))
            ranked = list(entry_probabilities(answer))
            rank = min((ranked.index(entry) + 1 for entry in case.accept if entry in ranked), default=99)
            right[f"{name} top1"] += rank == 1
            right[f"{name} top3"] += rank <= 3
            ranks.append(rank)
        if (ranks[0] == 1) != (ranks[1] == 1):
            changed.append(case.id)
    lines = [f"{len(cases)} cases; {len(seen)} observations seen, {len(single)} signatures on one report only"]
    lines += [f"{name:<14}{count / len(cases):.3f}" for name, count in right.items()]
    lines.append(f"first place gained or lost without them: {len(changed)}")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
