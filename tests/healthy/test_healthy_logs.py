"""Healthy jobs: nothing of the catalogue fires on what they printed, and nothing is diagnosed."""

from __future__ import annotations

import functools
from pathlib import Path

import built_in
import pytest

from distkb.catalogue.model import Catalogue
from distkb.catalogue.places import cache_directory
from distkb.diagnosis.batch import diagnose
from distkb.diagnosis.guide import Guide
from distkb.intake import read

HERE = Path(__file__).resolve().parent
JOBS = sorted(path for path in (HERE / "logs").iterdir() if path.is_dir())


@functools.cache
def knowledge() -> Catalogue:
    """The built-in catalogue."""
    return built_in.catalogue()


def test_there_is_a_corpus() -> None:
    """The recorded jobs cover DDP, both FSDPs and accelerate, each with the files of two ranks and the console."""
    assert {"ddp", "fsdp1", "fsdp2", "accelerate"} <= {job.name for job in JOBS}
    assert all(len(list(job.rglob("*.log"))) == 5 for job in JOBS)


@pytest.mark.parametrize("job", JOBS, ids=[job.name for job in JOBS])
def test_no_signature_fires_on_a_healthy_job(job: Path) -> None:
    """No line of a run that ended well matches any signature, and no finding that tells of a failure is derived."""
    evidence = read(knowledge(), [job], cache_dir=cache_directory())
    seen = [o for o in evidence.observations if not o.supposes]
    assert [(o.id, o.quotes[0].text) for o in seen if o.id != "run.steps-made"] == []
    assert evidence.skipped == ()
    assert evidence.log_coverage > 0.3


@pytest.mark.parametrize("job", JOBS, ids=[job.name for job in JOBS])
def test_a_healthy_job_is_not_diagnosed(job: Path) -> None:
    """The answer says that nothing wrong was found."""
    c = knowledge()
    guide = Guide(c)
    assert diagnose(guide, read(c, [job], cache_dir=cache_directory())).verdict == "no-evidence"
