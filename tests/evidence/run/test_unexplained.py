"""Errors that no entry describes are quoted and keep a run from being called healthy; lines of healthy runs do not."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import pytest

from distkb.catalogue.load import load_sources
from distkb.catalogue.places import cache_directory
from distkb.diagnosis.batch import diagnose
from distkb.diagnosis.guide import Guide
from distkb.diagnosis.model import Diagnosis
from distkb.intake import read

HERE = Path(__file__).resolve().parent
LINES = json.loads((HERE / "error_lines.json").read_text(encoding="utf-8"))
STEP = "step {} loss 2.0\n"


@functools.cache
def guide() -> Guide:
    """The built-in catalogue, ready to diagnose with."""
    return Guide(load_sources([HERE.parents[2] / "kb"])[0])


def diagnosed(folder: Path, text: str) -> Diagnosis:
    """What is said of a log."""
    path = folder / "train.log"
    path.write_text(text, encoding="utf-8")
    return diagnose(guide(), read(guide().catalogue, [path], cache_dir=cache_directory()))


@pytest.mark.parametrize("line", LINES["errors"])
def test_an_error_is_never_passed_over(line: str, tmp_path: Path) -> None:
    """A log with this error is not called healthy, and the error is quoted."""
    said = diagnosed(tmp_path, STEP.format(1) + STEP.format(2) + line + "\n")
    assert said.verdict != "no-evidence"
    assert any(quote.line in {3, 4, 5} for o in said.evidence.observations if o.present for quote in o.quotes)


@pytest.mark.parametrize("line", LINES["quiet"])
def test_a_line_of_a_healthy_run_is_no_error(line: str, tmp_path: Path) -> None:
    """A log with this line is called healthy."""
    assert diagnosed(tmp_path, line + "\n").verdict == "no-evidence"


def test_a_known_error_is_told_once(tmp_path: Path) -> None:
    """Where an entry speaks of the line, the general observation does not."""
    said = diagnosed(tmp_path, "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n")
    assert not any(o.id.startswith("error.") for o in said.evidence.observations)


def test_the_failing_rank_is_named(tmp_path: Path) -> None:
    """An error line with a rank is quoted with it."""
    said = diagnosed(tmp_path, STEP.format(1) + "[rank3]: KeyError: 'input_ids'\n")
    found = next(o for o in said.evidence.observations if o.id == "error.raised")
    assert found.quotes[0].rank == 3
