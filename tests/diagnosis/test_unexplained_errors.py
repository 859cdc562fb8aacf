"""Errors that no message of the catalogue fits: their words are compared with the entries, as a report's are."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import built_in
import pytest

from distkb.catalogue.cache import open_compiled
from distkb.catalogue.places import builtin, cache_directory
from distkb.diagnosis.batch import diagnose
from distkb.diagnosis.belief import RESEMBLES
from distkb.intake import read
from distkb.knowledge import build_extra
from distkb.search.index import Index, load

if TYPE_CHECKING:
    from pathlib import Path

    from distkb.diagnosis.model import Diagnosis
    from distkb.evidence.observation import Evidence

LIBRARY = "/opt/env/lib/python3.12/site-packages/lightning/fabric/fabric.py"
SAMPLER = "TypeError:  The engine cannot inject a distributed sampler into a batch sampler that is not PyTorch's own."


@cache
def index() -> Index:
    """The index that is stored with the catalogue."""
    return load(open_compiled([builtin()], build_extra).search_index())


def log(folder: Path, error: str, *frames: str) -> Path:
    """Write the log of a rank that raised an error."""
    lines = [f'  File "{frame}", line 61, in run' for frame in ("/home/user/train.py", *frames)]
    text = "\n".join(["epoch 0 step 10 loss 2.31", "Traceback (most recent call last):", *lines, error])
    (folder / "train.log").write_text("".join(f"[rank1]: {line}\n" for line in text.split("\n")), encoding="utf-8")
    return folder


def evidence(folder: Path, report: str | None = None) -> Evidence:
    """Read it as the commands do."""
    return read(built_in.catalogue(), [folder], report=report, index=index, cache_dir=cache_directory())


def answer(folder: Path) -> Diagnosis:
    """Diagnose it."""
    return diagnose(built_in.guide(), evidence(folder))


def test_an_error_of_a_library_leads_to_the_entry_that_has_its_words(tmp_path: Path) -> None:
    """It is put forward and not stated, and the line that says so is its reason."""
    found = answer(log(tmp_path, SAMPLER, LIBRARY))
    assert found.causes[0].entry.id == "D22"
    assert found.verdict != "named"
    (reason,) = [c for c in found.causes[0].evidence if c.observation.id == RESEMBLES]
    assert (reason.observation.quotes[0].line, reason.observation.quotes[0].rank) == (5, 1)


@pytest.mark.parametrize(("function", "died"), [("<module>", True), ("main", False)])
def test_a_rank_that_nothing_saved_from_an_error_died(function: str, died: bool, tmp_path: Path) -> None:
    """The traceback of an exception that was caught begins in the function that caught it."""
    log(tmp_path, SAMPLER, LIBRARY)
    file = tmp_path / "train.log"
    file.write_text(file.read_text().replace("in run", f"in {function}", 1))
    assert ("symptom=crash" in {o.id for o in evidence(tmp_path).observations}) is died


@pytest.mark.parametrize("frames", [(), (LIBRARY, "/home/user/model.py")])
def test_what_the_users_own_code_raises_is_in_words_of_its_own(frames: tuple[str, ...], tmp_path: Path) -> None:
    """Nothing is compared."""
    assert not evidence(log(tmp_path, SAMPLER, *frames)).affinity


def test_a_message_that_the_catalogue_knows_is_not_compared(tmp_path: Path) -> None:
    """It is evidence by itself."""
    known = "RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one."
    assert not evidence(log(tmp_path, known, LIBRARY)).affinity


def test_a_line_that_only_tells_of_an_error_is_compared_too(tmp_path: Path) -> None:
    """The first one, where nothing says more of a failure."""
    (tmp_path / "train.log").write_text("step 1\nERROR:root:the checkpoint shard 3 of step 40 is truncated\n")
    found = evidence(tmp_path)
    assert found.unexplained is not None
    assert found.unexplained.line == 2
    assert found.affinity


def test_a_report_is_compared_instead_of_an_error(tmp_path: Path) -> None:
    """What a person says counts, and the error is no reason then."""
    both = evidence(log(tmp_path, SAMPLER, LIBRARY), "It freezes at the barrier after the evaluation on rank 0.")
    assert both.unexplained is None
    assert both.affinity


def test_without_an_index_nothing_is_compared(tmp_path: Path) -> None:
    """None is built for it."""
    found = read(built_in.catalogue(), [log(tmp_path, SAMPLER, LIBRARY)], cache_dir=cache_directory())
    assert not found.affinity
    assert found.unexplained is None
