"""What meets untrusted text is linear or bounded: the estimate, the check of the catalogue, their own."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import built_in
import pytest
from catalogue_samples import KB, change, overlay

from distkb.catalogue.check import check_directories
from distkb.catalogue.effort import LOG_LINE, effort, slow
from distkb.catalogue.patterns import bounded
from distkb.evidence.readers.report.words import patterns_of

READERS = ("distkb.evidence", "distkb.probing", "distkb.settings", "distkb.sessions", "distkb.report")
SEEN = {
    ("distkb.evidence.readers.configs.json_file", "_STRING"): 1,  # matched at a place, and each place once
    ("distkb.evidence.readers.configs.load", "_SHELL_START"): 8192,  # the beginning of a file
    ("distkb.evidence.readers.configs.load", "_PYTHON_START"): 8192,
    ("distkb.evidence.readers.configs.shell_file", "_ASSIGNMENT"): 1,
    ("distkb.evidence.readers.configs.rules_deepspeed", "_MODEL_PARALLEL"): 4096,  # one option of a command
    ("distkb.evidence.readers.error_files", "_EXIT"): 1,
    ("distkb.evidence.inventory", "_LAST_NUMBER"): 255,  # the name of a file
    ("distkb.evidence.readers.flight_recorder.files", "_KNOWN"): 255,
    ("distkb.evidence.readers.flight_recorder.files", "_NAME"): 255,
    ("distkb.evidence.text.lines", "_NCCL"): 160,
    ("distkb.evidence.text.lines", "_TAG"): 160,
    ("distkb.evidence.readers.report.report_reader", "_OUTPUT"): 1000,
    ("distkb.evidence.readers.report.report_reader", "_COMMAND"): 1000,
    ("distkb.evidence.scanner.sieve", "_ANCHOR"): 1000,  # patterns of the catalogue
    ("distkb.evidence.scanner.sieve", "_TOKEN"): 1000,
    ("distkb.evidence.readers.stacks.text", "_FRAME"): 2000,
    ("distkb.evidence.readers.stacks.text", "_TAKEN"): 2000,
    ("distkb.evidence.readers.stacks.text", "_HEADER"): 2000,
    ("distkb.evidence.readers.stacks.text", "_SPY_THREAD"): 2000,
    ("distkb.evidence.readers.stacks.text", "_PROCESS"): 2000,
    ("distkb.evidence.readers.stacks.text", "_FAULT_THREAD"): 2000,
    ("distkb.evidence.readers.stacks.known", "SOURCE_SYNC"): 2000,
    ("distkb.evidence.readers.stacks.text", "_GDB_THREAD"): 2000,
    ("distkb.evidence.readers.flight_recorder.files", "_NAMES"): 255,  # the name of a file
    ("distkb.evidence.readers.flight_recorder.files", "_USUAL"): 255,
    ("distkb.evidence.run.positions", "_GENERATES"): 200,
    ("distkb.evidence.run.sayings", "_NUMBER"): 400,
    ("distkb.evidence.run.steps", "_DESCRIBED"): 600,
    ("distkb.evidence.readers.report.failure_text", "_SETTING"): 60,  # a key and its words: all that can be shared out
    ("distkb.evidence.text.traceback", "_LIBRARY"): 500,
    ("distkb.evidence.text.traceback", "_TAGS"): 1000,
    ("distkb.evidence.readers.traces.lines", "_FILE"): 4096,
    ("distkb.evidence.readers.traces.lines", "_OPENING_PIECE"): 4096,
    ("distkb.evidence.readers.traces.lines", "_PAIR"): 4096,
    ("distkb.evidence.readers.report.words", "_NEGATED_EN"): 40,
    ("distkb.probing.env.contract", "_PLACEHOLDER"): 1,  # a value that is matched as a whole
    ("distkb.report.citations", "_CPP"): 240,
    ("distkb.report.story", "_CPP_PLACE"): 240,
    ("distkb.report.story", "_FRAME"): 240,
}
"""Characters that an expression sees at once, where its reader cuts the text for it; others see whole lines."""
MOST = 2e9
"""Steps: a few gaps in a line of 128 KiB, or a square of some thousand characters."""


def modules() -> Iterator[ModuleType]:
    """Yield every module that reads or shows what a user gave."""
    for name in READERS:
        package = importlib.import_module(name)
        yield package
        for found in pkgutil.walk_packages(package.__path__, f"{name}."):
            yield importlib.import_module(found.name)


def expressions(module: ModuleType) -> Iterator[tuple[str, re.Pattern[str]]]:
    """Yield the module's expressions, alone or in tables."""
    for name, value in vars(module).items():
        for one in value if isinstance(value, (tuple, list)) else (value,):
            first = one[0] if isinstance(one, tuple) and one else one
            if isinstance(first, re.Pattern):
                yield name, first


def test_no_expression_of_a_reader_takes_long_on_what_it_sees() -> None:
    """Each is linear on a line of 128 KiB, or its reader cuts the text."""
    wrong = [
        (module.__name__, name, f"{steps:.0e}")
        for module in modules()
        for name, pattern in expressions(module)
        if (steps := effort(pattern, SEEN.get((module.__name__, name), LOG_LINE))) > MOST
    ]
    assert wrong == []


def test_the_words_of_facts_are_linear() -> None:
    """What says a value is looked for in the whole report."""
    for fact in built_in.catalogue().facts:
        for value in fact.values:
            for words in (value.said_as, value.hinted_as):
                for pattern, _ in patterns_of(words.en, words.ko):
                    assert effort(pattern, LOG_LINE) <= 2e3 * LOG_LINE, (fact.id, value.value)


@pytest.mark.parametrize(
    ("pattern", "steps"),
    [
        (r"rank \d+ foo", 1),
        (r"^a.*b", 1),
        (r"foo.*", 1),
        (r"a.*b", 500),
        (r"a.{0,80}b", 40),
        (r"\bword\w*s", 1),
    ],
)
def test_the_estimate_multiplies_what_shares_a_text(pattern: str, steps: float) -> None:
    """A gap that the search can begin in again multiplies; an anchor, and a gap that cannot fail, do not."""
    assert effort(pattern, 1000) == steps * 1000


@pytest.mark.parametrize("pattern", ["(a+)+(a|aa)+(.*a){1,9}b", r"(?:\w+\s?)*:", "(a|a)*b", "(x+x+)+y"])
def test_what_grows_without_bound_is_refused(pattern: str) -> None:
    """For logs and for reports."""
    assert slow(pattern, in_logs=True)
    assert slow(pattern, in_logs=False)


def test_an_overlay_with_such_a_pattern_is_refused(tmp_path: Path) -> None:
    """`kb check` names the file and the line, and the record is not loaded."""
    ours = overlay(tmp_path)
    file = "entries/hangs/ACME1-quiet-rank/entry.yaml"
    change(ours, "acme: rank", "(a+)+(a|aa)+(.*a){1,9}acme: rank", file)
    problems = check_directories([KB, ours])
    assert any("steps for each character" in one.message and one.path.endswith(file) for one in problems)


@pytest.mark.parametrize(
    ("pattern", "shown"),
    [
        ("a*b+", "a{0,9}b{1,9}"),
        (r"\*[*+]x*?", r"\*[*+]x{0,9}?"),
        ("a{2,}b{1,3}", "a{2,9}b{1,3}"),
        ("a{20,}", "a{20,20}"),
    ],
)
def test_no_repeat_is_endless_for_a_reader(pattern: str, shown: str) -> None:
    """What says no number gets one, and nothing else changes."""
    assert bounded(pattern, 9) == shown
