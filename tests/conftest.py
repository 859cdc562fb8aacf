"""What holds for all tests, and which of them the quick tier leaves to the whole one."""

from __future__ import annotations

import dataclasses
import os
import sys
from typing import TYPE_CHECKING, Final, Literal
from zlib import crc32

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadScopeScheduling

from distkb.catalogue import source
from distkb.catalogue.places import builtin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from xdist.remote import Producer

    from distkb.catalogue.problem import Problem
    from distkb.catalogue.source import Document

Tier = Literal["quick", "rest", "alone", "whole"]

# A property says what must hold, not how fast: on a loaded machine any example may take long.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

HEAVY: Final = ("torchrun", "browser", "terminal", "slow")
"""Marks of the tests that the quick tier leaves out."""
ALONE: Final = "alone"
"""Mark of the heavy tests that measure time, and that run with nothing beside them."""
FEWER: Final = 8
"""The quick tier tries one of so many examples of a property."""
LANGUAGES: Final = ("en", "ko")
LAUNCHERS: Final = ("torchrun", "torch.distributed.run", "chromium", "tmux")
"""What no test of the quick tier starts: named by a word of the command."""
TOGETHER: Final = {
    "docsite/test_browser_search.py": "served site",
    "docsite/test_browser_tasks.py": "served site",
    "docsite/test_browser_weight.py": "served site",
    "docsite/test_pages_browser.py": "served site",
    "docsite/test_site_markup.py": "served site",
    "docsite/test_advise_parity.py": "advice of page and program",
    "docsite/test_search_parity.py": "answers of page and program",
    "probes/test_fsdp_model.py": "models in a pretended world",
    "probes/test_fsdp_model_truth.py": "models on real ranks",
    "probes/test_live_jobs.py": "jobs with live checks",
    "replay/test_programs.py": "diagnoses of recorded programs",
    "repro/test_repro_command.py": "sample entry of the command",
    "truth/test_behaviour.py": "programs that show what torch does",
    "tui/test_tui_live.py": "hanging job",
    "tui/test_tui_repro.py": "sample entry on the screen",
}
"""Files whose tests share what takes long to make: one worker runs all that share it, so that it is made once."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the tier from the command line."""
    parser.addoption(
        "--tier",
        choices=("quick", "rest", "alone", "whole"),
        help="quick (default): seconds each, and recorded programs; rest: what quick leaves out, and properties with "
        "all examples; alone: what measures time (with -n 0); whole: all, which is the default with -m and -k",
    )


def pytest_xdist_auto_num_workers() -> int:
    """Start one worker more than there are processors: the screen and the programs wait more than they compute."""
    return (os.cpu_count() or 1) + 1


class Together(LoadScopeScheduling):  # type: ignore[misc] # pytest-xdist has no types
    """Hands each worker one test after another, and those of `TOGETHER` all at once, the most tests first."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0].rpartition("tests/")[2]
        return TOGETHER.get(file, nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> Together | None:
    """Keep together what shares something; the many small tests of the quick tier are spread as the options say.

    It takes no mark: `--dist loadgroup` of pytest-xdist 3.8 groups nothing under pytest 9.2 (pytest-xdist#1386).
    """
    return None if tier_of(config) == "quick" else Together(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose the tests of the tier; the one place that decides."""
    tier = tier_of(config)
    heavy = [item for item in items if is_in_the_other_language(item) or any(map(item.get_closest_marker, HEAVY))]
    if tier == "quick":
        left = heavy
        shorten(items)
    elif tier == "rest":
        mine = {*heavy, *(item for item in items if grows(item))}
        left = [item for item in items if item not in mine or item.get_closest_marker(ALONE)]
    elif tier == "alone":
        left = [item for item in items if not item.get_closest_marker(ALONE)]
    else:
        left = []
    if left:
        out = set(left)
        items[:] = [item for item in items if item not in out]
        config.hook.pytest_deselected(items=left)


def is_in_the_other_language(item: pytest.Item) -> bool:
    """Say whether a test of the screen is left to the whole tier because the quick one has it in one language.

    Which of the two that is goes by the test, so that each language has half of them.
    """
    if not isinstance(item, pytest.Function) or not hasattr(item, "callspec"):
        return False
    given = item.callspec.params.get("lang")
    if given not in LANGUAGES or "tui" not in item.path.parts:
        return False
    others = sorted(f"{name}={value}" for name, value in item.callspec.params.items() if name != "lang")
    chosen = LANGUAGES[crc32(" ".join((item.function.__name__, *others)).encode()) % len(LANGUAGES)]
    return given != chosen


def tier_of(config: pytest.Config) -> Tier:
    """Return the tier that was asked for."""
    named: Tier | None = config.getoption("--tier")
    return named or ("whole" if config.getoption("markexpr") or config.getoption("keyword") else "quick")


def grows(item: pytest.Item) -> bool:
    """Say whether a test does more in the whole tier than in the quick one."""
    is_property = getattr(getattr(item, "function", None), "is_hypothesis_test", False)
    return is_property or any(mark.args == ("tier",) for mark in item.iter_markers("usefixtures"))


def shorten(items: Iterable[pytest.Item]) -> None:
    """Let properties try fewer examples: Hypothesis has no public way to change what a test itself says."""
    for function in {item.function: None for item in items if isinstance(item, pytest.Function)}:
        if getattr(function, "is_hypothesis_test", False):
            told: settings = getattr(function, "_hypothesis_internal_use_settings", None) or settings()
            function._hypothesis_internal_use_settings = settings(told, max_examples=max(5, told.max_examples // FEWER))


@pytest.fixture(scope="session")
def tier(request: pytest.FixtureRequest) -> Tier:
    """The tier, for a test that does more in the whole one."""
    return tier_of(request.config)


@pytest.fixture(autouse=True, scope="session")
def _built_in_is_read_once() -> Iterator[None]:
    """Keep the parsed files of `kb/`: many tests check it with an overlay beside it, and reading it takes a second."""
    kept: dict[tuple[Path, int], tuple[Document, list[Problem]]] = {}
    real, home = source.read, builtin()

    def read(path: Path) -> tuple[Document, list[Problem]]:
        if not path.is_relative_to(home) or not path.exists():
            return real(path)
        key = (path, path.stat().st_mtime_ns)
        if key not in kept:
            kept[key] = real(path)
        document, problems = kept[key]
        return dataclasses.replace(document), problems

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("distkb.catalogue.load.read", read)
        yield


@pytest.fixture(autouse=True, scope="session")
def _nothing_heavy(tier: Tier) -> Iterator[None]:
    """Stop a test of the quick tier that starts what only the whole one may start."""
    watching = tier == "quick"

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        if watching and event == "subprocess.Popen" and isinstance(arguments[1], (list, tuple)):
            words = [os.fspath(word) for word in arguments[1][:4] if isinstance(word, (str, os.PathLike))]
            if any(os.path.basename(word) in LAUNCHERS for word in words):  # noqa: PTH119
                raise RuntimeError(f"mark the test with one of {', '.join(HEAVY)}: it starts {' '.join(words)}")

    sys.addaudithook(watch)
    yield
    watching = False
