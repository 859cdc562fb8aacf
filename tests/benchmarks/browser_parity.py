"""Compares the page's diagnosis, in a real Chromium, with Python's.

    python tests/benchmarks/browser_parity.py FILE.jsonl [LIMIT]

FILE holds cases as `distkb eval diagnosis` reads them; only their reports are used. Every one is ranked by both, and
the share with the same first cause and the same first three is printed, with the ids of those that differ. What the
reports say is neither printed nor written.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from distkb.catalogue.places import cache_directory
from distkb.diagnosis.belief import believe
from distkb.diagnosis.conclude import conclude, entry_probabilities
from distkb.diagnosis.likelihood import LikelihoodTable
from distkb.docsite.build import build
from distkb.docsite.views import Library
from distkb.evaluation import read_cases
from distkb.intake import read
from distkb.knowledge import open_knowledge
from distkb.report.meaning import Meanings
from distkb.search.index import load

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
REQUIRED = 0.99

compiled = open_knowledge()
catalogue = compiled.catalogue()
table = LikelihoodTable(catalogue.entries, catalogue.signatures, catalogue.findings, catalogue.facts)
index = load(compiled.search_index())
cases = [case for case in read_cases(Path(sys.argv[1])) if case.report][
    : int(sys.argv[2]) if len(sys.argv) > 2 else None
]


def ranked(report: str) -> tuple[list[str], dict[str, float]]:
    """The first three entries as Python has them, and every entry's probability."""
    evidence = read(catalogue, [], report=report, index=lambda: index, cache_dir=cache_directory())
    totals = entry_probabilities(conclude(table, believe(table, evidence), evidence))
    return list(totals)[:3], totals


def same(mine: list[str], theirs: list[str], totals: dict[str, float]) -> bool:
    """Whether two rankings agree; where entries are equally probable, in either order."""
    return all(a == b or abs(totals[a] - totals[b]) < 1e-6 for a, b in zip(mine, theirs, strict=True))


with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
    root = Path(folder) / "site"
    build(Library(catalogue, (), Meanings(catalogue), search=compiled.search_index()), root)
    chromium = shutil.which("chromium") or "chromium"
    browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
    page = browser.new_page()
    page.goto((root / "en" / "diagnose.html").as_uri())
    first = three = 0
    differing: list[str] = []
    spent: list[float] = []
    for case in cases:
        theirs, totals = ranked(case.report)
        begun = time.perf_counter()
        mine = page.evaluate("text => distkb.rank(text, true).then(found => found.entries.slice(0, 3))", case.report)
        spent.append(time.perf_counter() - begun)
        first += same(mine[:1], theirs[:1], totals)
        agrees = same(mine, theirs, totals)
        three += agrees
        if not agrees:
            differing.append(case.id)
    browser.close()

n = len(cases)
spent.sort()
milliseconds = [round(1000 * spent[n * share // 100]) for share in (50, 95)]
sys.stdout.write(
    f"cases {n}, same first {first / n:.4f}, same first three {three / n:.4f}\n"
    f"milliseconds in the page: median {milliseconds[0]}, 95th percentile {milliseconds[1]}\n"
    f"differing: {' '.join(differing) or 'none'}\n"
)
sys.exit(three / n < REQUIRED)
