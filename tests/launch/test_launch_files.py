"""Launch files that go wrong each draw the finding that names why; launch files that work draw none."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from distkb.catalogue.load import load_sources
from distkb.catalogue.model import Catalogue
from distkb.evidence.readers.configs import read_configs

HERE = Path(__file__).parent
WRONG = {
    "first/wrong/accelerate-loopback.sh": "config.loopback-master",
    "first/wrong/double-quotes.sbatch": "config.accelerate-expanded-early",
    "first/wrong/heredoc-at-submission.sh": "config.sbatch-expanded-at-submission",
    "first/wrong/localhost-endpoint.sbatch": "config.loopback-endpoint",
    "first/wrong/nnodes-against-allocation.sbatch": "config.sbatch-nodes-differ",
    "first/wrong/no-endpoint.sh": "config.torchrun-no-endpoint",
    "first/wrong/nobody-starts-the-others.sh": "config.sbatch-without-srun",
    "first/wrong/node-rank-unquoted.sbatch": "config.srun-expanded-early",
    "first/wrong/rank-in-batch-shell.slurm": "config.rank-exported",
    "first/wrong/standalone-everywhere.job": "config.torchrun-standalone-nodes",
    "first/wrong/step-smaller-than-job.sbatch": "config.step-smaller-than-job",
    "first/wrong/tasks-times-torchrun.sbatch": "config.sbatch-tasks-with-launcher",
    "fresh/wrong/accelerate-one-node.slurm": "config.sbatch-without-srun",
    "fresh/wrong/by-hand.sh": "config.torchrun-static-no-master",
    "fresh/wrong/master-addr-array.sh": "config.loopback-master",
    "fresh/wrong/mpi-times-torchrun.pbs": "config.mpirun-tasks-with-launcher",
    "fresh/wrong/not-exported.sbatch": "config.srun-not-exported",
    "fresh/wrong/one-node-step.sbatch": "config.step-smaller-than-job",
    "fresh/wrong/own-hostname.sbatch": "config.endpoint-own-name",
    "fresh/wrong/per-node-ignored.sbatch": "config.sbatch-tasks-with-launcher",
    "fresh/wrong/range-of-nodes.sh": "config.sbatch-nodes-differ",
    "fresh/wrong/rank-inline.sbatch": "config.rank-exported",
    "fresh/wrong/standalone-appended.sbatch": "config.torchrun-standalone-nodes",
    "fresh/wrong/world-size-nodes.sbatch": "config.world-size-differs",
    "fresh/wrong/wrap.sh": "config.sbatch-expanded-at-submission",
    "third/wrong/accelerate-127.sbatch": "config.loopback-master",
    "third/wrong/exported-localhost.sbatch": "config.loopback-endpoint",
    "third/wrong/fewer-than-allocated.sbatch": "config.sbatch-nodes-differ",
    "third/wrong/first-node-only.sh": "config.sbatch-without-srun",
    "third/wrong/half-the-nodes.sbatch": "config.step-smaller-than-job",
    "third/wrong/no-id.sh": "config.torchrun-no-rdzv-id",
    "third/wrong/node-rank-zero.sbatch": "config.srun-fixed-node-rank",
    "third/wrong/rank-in-arguments.sbatch": "config.srun-expanded-early",
    "third/wrong/rank-of-the-node.sbatch": "config.rank-exported",
    "third/wrong/srun-python-localhost.sbatch": "config.loopback-master",
    "third/wrong/tasks-for-gpus.slurm": "config.sbatch-tasks-with-launcher",
    "third/wrong/written-job.sh": "config.sbatch-expanded-at-submission",
}


def files(kind: str) -> list[str]:
    """Launch files of a kind, `wrong` or `right`, by their path from here."""
    return sorted(path.relative_to(HERE).as_posix() for path in HERE.glob(f"*/{kind}/*"))


@cache
def catalogue() -> Catalogue:
    """The built-in knowledge base."""
    return load_sources([HERE.parents[1] / "kb"])[0]


def found_in(name: str) -> set[str]:
    """Ids of all that is observed in a launch file, notes too."""
    return {observation.id for observation in read_configs([HERE / name], catalogue().settings, {}).observations}


@pytest.mark.parametrize("name", files("wrong"))
def test_a_wrong_launch_file_draws_one_kind_of_finding(name: str) -> None:
    """What is wrong with a launch file is named, and nothing else is."""
    assert found_in(name) == {WRONG[name]}


@pytest.mark.parametrize("name", files("right"))
def test_a_right_launch_file_draws_no_finding(name: str) -> None:
    """A launch file that works draws no finding at all."""
    assert found_in(name) == set()
