"""Quick commands stay quick: nothing heavy is imported on their way, and what is deferred still loads when needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = (
    "asyncio",
    "hyperscan",
    "importlib.metadata",
    "jinja2",
    "jsonschema",
    "markdown_it",
    "multiprocessing",
    "numpy",
    "platformdirs",
    "rapidfuzz",
    "rich",
    "textual",
    "torch",
    "yaml",
)
"""Modules that cost more than the whole search, or that only some commands need."""
QUICK = (
    ("--help",),
    ("--help", "--lang", "ko"),
    ("--version",),
    ("search", "hang", "barrier"),
    ("search", "배리어에서 멈춤", "--lang", "ko"),
    ("search", "hang", "--json"),
    ("show", "D21"),
    ("show", "D21", "--lang", "ko"),
    ("list",),
    ("list", "--json"),
    ("diagnose", "--help"),
    ("kb", "check", "--help"),
)
PROGRAM = """
import io, sys
from distkb.cli.main import cli
out, sys.stdout = sys.stdout, io.StringIO()
code = cli.run(sys.argv[1:])
sys.stdout = out
print(int(code), *sorted(sys.modules))
"""


def modules_after(*args: str) -> set[str]:
    """Modules loaded when a command has run in a fresh interpreter."""
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, *args], capture_output=True, text=True, timeout=120, check=True
    )
    code, *modules = result.stdout.split()
    assert code == "0", result.stderr
    return set(modules)


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    """Compile the catalogue once: compiling reads YAML, using the compiled file must not."""
    modules_after("list")


@pytest.mark.parametrize("args", QUICK, ids=" ".join)
def test_quick_commands_import_nothing_heavy(args: tuple[str, ...]) -> None:
    """Reading the compiled catalogue needs none of the heavy modules."""
    assert not modules_after(*args) & set(HEAVY)


def test_help_does_not_open_the_catalogue() -> None:
    """Help texts come from the locale files alone."""
    assert "distkb.catalogue.cache" not in modules_after("--help")


def test_a_typo_still_finds_its_corrector() -> None:
    """What is deferred loads when it is needed: a misspelled word is corrected with rapidfuzz."""
    assert "rapidfuzz" in modules_after("search", "barier", "deadlok")


@pytest.mark.slow
@pytest.mark.alone
def test_a_search_costs_at_most_eight_bare_interpreter_starts() -> None:
    """The whole process of a search stays within eight times `python -c pass` in the same run."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
    from cold_start import SEARCH, measure

    ratios = []
    for _ in range(3):  # a busy machine may spoil one round, not three
        whole, bare = measure(SEARCH, 9)
        ratios.append(whole / bare)
        if ratios[-1] <= 8:
            return
    raise AssertionError(ratios)
