"""What the search path imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SLOW = ("yaml", "numpy", "rapidfuzz", "hyperscan", "textual", "rich", "torch", "jinja2")


def imported(code: str) -> set[str]:
    """Names of the top-level modules that a fresh interpreter has after running code."""
    script = f"{code}\nimport sys\nprint(' '.join(sorted({{m.partition('.')[0] for m in sys.modules}})))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_search_imports_nothing_slow() -> None:
    """Importing search must not import what would spoil its cold start."""
    assert not imported("import distkb.search.query") & set(SLOW)


def test_search_does_not_build() -> None:
    """Answering a query must not import the modules that build the index."""
    script = "import sys, distkb.search.query\nprint('BUILT' if 'distkb.search.build' in sys.modules else 'LEAN')"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "LEAN"


def test_rapidfuzz_is_imported_for_unknown_words_only() -> None:
    """Known words must be answered without the typo machinery."""
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from search_catalogue import catalogue\n"
        "from distkb.search.index import build, load\n"
        "from distkb.search.query import search\n"
        "search(load(build(catalogue())), "
    )
    assert "rapidfuzz" not in imported(f"{code}{'hang barrier 멈춤'!a})")
    assert "rapidfuzz" in imported(f"{code}'hang bariers')")
