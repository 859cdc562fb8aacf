"""Causes for which the code of a run has nothing are told from those that it could have."""

from __future__ import annotations

import json
from pathlib import Path

import built_in
import pytest

from distkb import intake
from distkb.catalogue.places import cache_directory
from distkb.diagnosis.batch import diagnose
from distkb.diagnosis.model import RankedCause
from distkb.evidence.artifacts import read_artifacts
from distkb.evidence.code.takes import lacking
from distkb.evidence.walk import take_stock

PROGRAMS = Path(__file__).parents[1] / "replay" / "data" / "programs"
TRAIN = """import torch
from torch.nn.parallel import DistributedDataParallel
{more}

def main():
    torch.distributed.init_process_group("gloo")
    model = DistributedDataParallel(torch.nn.Linear(2, 2))
    for step in range(3):
        model(torch.ones(2)).sum().backward()

main()
"""


def lacks(*paths: Path) -> tuple[str, ...] | None:
    """Return the causes for which the files have nothing."""
    catalogue = built_in.catalogue()
    artifacts = read_artifacts(take_stock(paths), catalogue.settings, {}, catalogue.refusals)
    project = artifacts.project()
    return None if project is None else lacking(catalogue.entries, project, artifacts.settings)


def test_code_without_a_word_of_it_lacks_a_cause(tmp_path: Path) -> None:
    """A program with DDP alone has no pipeline and no shards, and can leave parameters without a gradient."""
    script = tmp_path / "train.py"
    script.write_text(TRAIN.format(more=""))
    found = lacks(script)
    assert found is not None
    assert {"D66.a", "D12.a", "D52.a", "D46.a"} <= set(found)
    assert not {"D8.a", "D22.a", "D20.a"} & set(found)


@pytest.mark.parametrize("more", ["from helpers import build", "from .wrap import shard", "import our_company_tools"])
def test_code_of_which_a_part_is_elsewhere_lacks_nothing(tmp_path: Path, more: str) -> None:
    """What a module holds that was not given nobody knows."""
    script = tmp_path / "train.py"
    script.write_text(TRAIN.format(more=more))
    assert lacks(script) is None


def test_a_part_of_a_program_lacks_nothing(tmp_path: Path) -> None:
    """A data set alone does not say how the run wraps its model."""
    script = tmp_path / "data.py"
    script.write_text("import torch\n\ndef batches(n):\n    return [torch.ones(2) for _ in range(n)]\n")
    assert lacks(script) is None


def test_a_configuration_beside_the_scripts_counts(tmp_path: Path) -> None:
    """A word that only the settings have is there all the same."""
    script, settings = tmp_path / "train.py", tmp_path / "run.sh"
    script.write_text(TRAIN.format(more=""))
    settings.write_text("torchrun --nproc-per-node 2 train.py --pipeline-stages 2\n")
    found = lacks(script, settings)
    assert found is not None
    assert "D66.a" not in found


@pytest.mark.slow
def test_the_cause_of_a_recorded_program_is_never_lacking() -> None:
    """Of every program that failed in a known way its code has what that takes."""
    cases = sorted(PROGRAMS.glob("*/case.json"))
    assert cases
    for case in cases:
        assert json.loads(case.read_bytes())["cause"] not in (lacks(case.parent / "script") or ()), case.parent.name


def test_what_code_lacks_speaks_against_it(tmp_path: Path) -> None:
    """The answer says so at the cause, and the cause falls behind."""
    log, script = tmp_path / "train.log", tmp_path / "train.py"
    log.write_text("RuntimeError: Expected to mark a variable ready only once.\n")
    script.write_text(TRAIN.format(more=""))

    def causes(*paths: Path) -> dict[str, RankedCause]:
        evidence = intake.read(built_in.catalogue(), paths, index=built_in.index, cache_dir=cache_directory())
        return {ranked.cause.id: ranked for ranked in diagnose(built_in.guide(), evidence).causes}

    alone, beside = causes(log), causes(log, script)
    assert beside["D46.a"].probability < alone["D46.a"].probability
    assert any(c.observation.id == "script.lacks-what-it-takes" for c in beside["D46.a"].evidence)
