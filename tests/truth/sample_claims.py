"""Draws claims of the catalogue at random, to be checked against their sources by hand.

    python tests/truth/sample_claims.py 20261125 100

prints as many claims, the same for the same seed and catalogue: sentences of explanations, steps, what does not help,
version ranges, settings, timers, guides and README, each stratum by its share of an even draw.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator

import catalogue_names as names

FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"])")


def strata() -> dict[str, list[str]]:
    """Every claim with where it stands, by kind."""
    out: dict[str, list[str]] = {}
    for kind, where, text in claims():
        out.setdefault(kind, []).append(f"{where}: {text}")
    return out


def claims() -> Iterator[tuple[str, str, str]]:
    """Yield kind, place and text of every claim."""
    yield from of_entries()
    yield from of_records()
    for path in (*sorted((names.ROOT / "kb/guides").glob("*.en.md")), names.ROOT / "README.md"):
        prose = FENCED.sub("", path.read_text(encoding="utf-8"))
        for paragraph in prose.split("\n\n"):
            if paragraph.strip()[:1].isalpha():
                for sentence in SENTENCE.split(" ".join(paragraph.split())):
                    yield "guide", path.name, sentence


def of_entries() -> Iterator[tuple[str, str, str]]:
    """Yield what entries say: explanations by sentence, steps, and what does not help."""
    for entry in names.catalogue().entries:
        for cause in entry.causes:
            for sentence in SENTENCE.split(" ".join(cause.explanation.en.split())):
                yield "explanation", cause.id, sentence
            for fix in cause.fixes:
                for step in fix.steps:
                    yield "step", fix.id, " ".join(step.en.split())
        for text in entry.does_not_help:
            yield "does not help", entry.id, text.en


def of_records() -> Iterator[tuple[str, str, str]]:
    """Yield version ranges of log lines, settings and timers."""
    catalogue = names.catalogue()
    for signature in catalogue.signatures:
        for seen in signature.seen_in:
            yield "range", signature.id, f"{seen.component} {seen.since or '…'} to {seen.until or '…'} ({seen.how})"
    for setting in catalogue.settings:
        readers = ", ".join(f"{one.component} {one.since or '…'} to {one.until or '…'}" for one in setting.read_by)
        yield "setting", setting.id, f"{setting.status}; {readers}; {setting.means.en}"
    for timer in catalogue.timers:
        defaults = ", ".join(
            f"{one.seconds} s ({one.component} {one.since or '…'}-{one.until or '…'})" for one in timer.defaults
        )
        yield "timer", timer.id, f"{timer.ends.en} {defaults}"


def draw(seed: int, count: int) -> list[str]:
    """Return claims drawn with a seed, every kind as often as the others until it has no more."""
    chosen = random.Random(seed)
    pools = {kind: chosen.sample(sorted(texts), len(texts)) for kind, texts in sorted(strata().items())}
    drawn: list[str] = []
    while len(drawn) < count and any(pools.values()):
        for kind, pool in pools.items():
            if pool and len(drawn) < count:
                drawn.append(f"{kind} | {pool.pop()}")
    return sorted(drawn)


if __name__ == "__main__":
    for number, claim in enumerate(draw(int(sys.argv[1]), int(sys.argv[2])), 1):
        print(f"{number:>3} {claim}")  # noqa: T201
