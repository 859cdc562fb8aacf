"""Ten programs that hang: what the logs leave open, stacks, recorder dumps or the script decide; the text says which.

The programs are in `data/joint/programs`, what was left of a real run of each in `data/joint/recorded`; they are
recorded by `record_joint.py`.
"""

from __future__ import annotations

import functools
from pathlib import Path

import built_in
import msgspec
import pytest

from distkb.catalogue.places import cache_directory
from distkb.diagnosis.batch import diagnose
from distkb.diagnosis.conclude import entry_probabilities
from distkb.diagnosis.model import Diagnosis
from distkb.diagnosis.moves import TryFix
from distkb.diagnosis.session import EvidenceAdded, Session
from distkb.diagnosis.view import view
from distkb.intake import read
from distkb.locale import LANGUAGES, Language, Say, sentence
from distkb.report import json, markdown, text
from distkb.report.decided import decided
from distkb.report.meaning import Meanings

JOINT = Path(__file__).parent / "data" / "joint"
PLACES = {"stacks": "stacks", "flight-recorder": "dumps", "script": "train.py"}
HANGS = {"symptom": "hang"}
"""What whoever asks can say in any case."""


class Case(msgspec.Struct, frozen=True):
    """One program."""

    entry: str
    """The entry of the real cause."""
    sources: tuple[str, ...]
    """What is read beside the logs."""
    decides: str
    """The source that the text has to name."""


CASES = {
    "expert_groups": Case("D31", ("stacks", "script"), "script"),
    "fsdp_checkpoint": Case("D15", ("stacks", "script"), "script"),
    "loader_lock": Case("D41", ("stacks",), "stacks"),
    "retry_download": Case("D35", ("stacks", "flight-recorder"), "stacks"),
    "save_and_return": Case("D21", ("stacks", "script"), "script"),
    "skip_bad_batch": Case("D47", ("stacks", "flight-recorder"), "flight-recorder"),
    "slice_by_rank": Case("D9", ("script",), "script"),
    "tokenize_first": Case("D35", ("stacks",), "stacks"),
    "two_groups": Case("D19", ("stacks", "flight-recorder"), "flight-recorder"),
    "validate_on_main": Case("D21", ("stacks", "script"), "script"),
}

OPEN = [name for name in CASES if name not in {"skip_bad_batch", "expert_groups"}]
"""Programs whose logs alone tell too little: of the others a rank says by itself that it skips a batch, and the
tracebacks show ranks that still make a process group."""


@functools.cache
def diagnosed(name: str, sources: tuple[str, ...]) -> Diagnosis:
    """The answer from the logs of a run and what is read beside them."""
    folder = JOINT / "recorded" / name
    paths = [folder / "logs", *(folder / PLACES[source] for source in sources)]
    assert all(path.exists() for path in paths)
    return diagnose(built_in.guide(), read(built_in.catalogue(), paths, facts=HANGS, cache_dir=cache_directory()))


def ranked(answer: Diagnosis) -> list[tuple[str, float]]:
    """The first entries with their probabilities."""
    return [(entry, round(probability, 2)) for entry, probability in list(entry_probabilities(answer).items())[:4]]


@pytest.mark.parametrize("name", OPEN)
def test_the_logs_alone_leave_it_open(name: str) -> None:
    """From the logs nobody could act: no cause is named or leads, and at least two are about as probable."""
    answer = diagnosed(name, ())
    assert answer.verdict in ("undecided", "unknown")
    (_, first), (_, second), *_ = ranked(answer)
    assert second > first / 3, ranked(answer)


@pytest.mark.parametrize("name", OPEN)
def test_with_the_other_sources_the_right_cause_comes_first(name: str) -> None:
    """The entry of the real cause is first, and more probable than by the logs alone."""
    case = CASES[name]
    answer, before = diagnosed(name, case.sources), diagnosed(name, ())
    order = ranked(answer)
    assert order[0][0] == case.entry, order
    assert answer.verdict != "unknown"
    assert entry_probabilities(answer)[case.entry] > 1.5 * entry_probabilities(before)[case.entry]


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("name", OPEN)
def test_the_text_says_which_evidence_decided(name: str, lang: Language) -> None:
    """The source is named in the answer, with the place where it shows; without it, nothing is said to decide."""
    case = CASES[name]
    answer = diagnosed(name, case.sources)
    found = decided(answer)
    assert found is not None
    assert found.source == case.decides
    catalogue = built_in.catalogue()
    say = Say(lang)
    written = " ".join(text.write(answer, Meanings(catalogue), say, columns=400).split())
    assert sentence(f"report.source.{case.decides}", lang) in written
    assert found.quote is not None
    assert (found.quote.path or "").rpartition("/")[2] in written
    pasted = markdown.write(answer, Meanings(catalogue), say)
    assert sentence(f"report.source.{case.decides}", lang) in pasted
    told = json.document(answer, Meanings(catalogue))["decided"]
    assert (told["source"], told["path"]) == (case.decides, found.quote.path)
    alone = diagnosed(name, ())
    assert decided(alone) is None
    assert json.document(alone, Meanings(catalogue))["decided"] is None


def test_what_one_rank_alone_said_decides() -> None:
    """Where a rank says that it skips a batch and the others do not, the logs alone name the cause."""
    answer = diagnosed("skip_bad_batch", ())
    assert (answer.verdict, ranked(answer)[0][0]) == ("named", "D47")


def test_every_program_has_its_run() -> None:
    """Programs, recordings and cases are the same ten; a recording holds the very program that ran."""
    assert len(CASES) == 10
    assert {path.stem for path in (JOINT / "programs").glob("*.py")} == set(CASES)
    assert {path.name for path in (JOINT / "recorded").iterdir()} == set(CASES)
    for name in CASES:
        ran = (JOINT / "recorded" / name / "train.py").read_bytes()
        assert ran == (JOINT / "programs" / f"{name}.py").read_bytes()


def test_recordings_are_small_and_tell_nothing_of_the_machine() -> None:
    """No path, no name of the machine that recorded; a few kilobytes each."""
    for path in (JOINT / "recorded").rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert len(data) < 40_000, path
            for private in (b"/root/", b"/work/", b"/tmp/"):
                assert private not in data, (path, private)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("taken", [0, 1])
def test_the_fix_that_is_offered_first_is_of_the_answers_entry(name: str, taken: int) -> None:
    """Whatever is read, no fix of another entry is offered before one of the entry that the answer puts first."""
    answer = diagnosed(name, CASES[name].sources[:taken])
    shown = view(Session(id="s", events=(EvidenceAdded(label="logs", evidence=answer.evidence),)), built_in.guide())
    fixes = [move for move in (shown.next, *shown.alternatives) if isinstance(move, TryFix)]
    if shown.diagnosis.fix is not None and fixes:
        assert fixes[0].entry == shown.diagnosis.causes[0].entry
