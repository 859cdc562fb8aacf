"""`srun distkb probe env`: the tasks of a step give one answer, and a task without an answer is named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from env_facts import BY_HAND, facts

from distkb.catalogue.load import load_sources
from distkb.catalogue.model import Catalogue
from distkb.knowledge import open_knowledge
from distkb.probing import step
from distkb.probing.conclude import conclude_tasks
from distkb.probing.document import RawDocument

PROGRAM = Path(sys.executable).with_name("distkb")
RAW = RawDocument(schema="distkb.probe-raw/1", probe="env", status="ok")


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    """The built-in knowledge base."""
    return load_sources([Path(__file__).parents[2] / "kb"])[0]


def slurm(number: int, count: int = 4) -> dict[str, str]:
    """What Slurm gives a task."""
    return {
        "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "SLURM_PROCID": str(number), "SLURM_NTASKS": str(count),
        "SLURM_STEP_NUM_TASKS": str(count), "SLURM_LOCALID": str(number),
    }  # fmt: skip


def found(environments: list[dict[str, str]], catalogue: Catalogue) -> list[str]:
    """Ids of what is found in the environments of the tasks of a step."""
    given = {n: facts({**slurm(n, len(environments)), **own}) for n, own in enumerate(environments)}
    return [o.id for o in conclude_tasks(given, catalogue) if o.present]


def test_one_rank_for_all_tasks_is_one_finding(catalogue: Catalogue) -> None:
    """All four tasks are RANK=0: it is said once, not once for each task."""
    contract = {**BY_HAND, "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "4", "RANK": "0", "LOCAL_RANK": "0"}
    assert found([contract] * 4, catalogue) == ["env.tasks-same-rank"]


def test_a_rank_for_each_task_is_right(catalogue: Catalogue) -> None:
    """Four tasks with four ranks draw nothing."""
    contract = {**BY_HAND, "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "4"}
    assert found([{**contract, "RANK": str(n), "LOCAL_RANK": str(n)} for n in range(4)], catalogue) == []


def test_what_all_tasks_share_is_said_once(catalogue: Catalogue) -> None:
    """A wrong WORLD_SIZE in four tasks is one finding with the places of all of them."""
    contract = {**BY_HAND, "WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "8"}
    own = [facts({**slurm(n), **contract, "RANK": str(n), "LOCAL_RANK": str(n)}) for n in range(4)]
    (one,) = [o for o in conclude_tasks(dict(enumerate(own)), catalogue) if o.present]
    assert (one.id, len(one.quotes)) == ("env.slurm-world-differs", 4)
    assert [quote.path for quote in one.quotes] == [f"task {n} (node0)" for n in range(4)]


@pytest.mark.parametrize(
    "change", [{"SLURM_STEP_NUM_TASKS": "1"}, {"SLURM_PTY_PORT": "1"}, {"SLURM_PROCID": "9"}, {"SLURM_JOB_ID": "../x"}]
)
def test_elsewhere_there_is_no_step(change: dict[str, str], tmp_path: Path) -> None:
    """One task, an interactive shell and numbers that are none are no step of several tasks."""
    assert step.task_of({**slurm(0), **change}, tmp_path) is None
    assert step.task_of(slurm(0), tmp_path) is not None


def test_a_folder_of_somebody_else_is_not_used(tmp_path: Path) -> None:
    """What others may enter could hold anything."""
    task = step.task_of(slurm(1), tmp_path)
    assert task is not None
    task.folder.mkdir(mode=0o777)
    task.folder.chmod(0o777)
    assert not step.begin(task)


def test_a_task_that_nobody_waits_for_leaves_nothing(tmp_path: Path) -> None:
    """Where the first task does not come, the folder is gone all the same."""
    task = step.task_of(slurm(1), tmp_path)
    assert task is not None
    assert step.begin(task)
    assert not step.hand_over(task, RAW, time.monotonic())
    assert list(tmp_path.iterdir()) == []


def test_the_tasks_of_a_step_print_one_answer(tmp_path: Path) -> None:
    """Four processes as srun starts them: the first prints one finding, the others nothing, and no file is left."""
    open_knowledge()  # compiled once, not by all four at the same time
    contract = {**BY_HAND, "WORLD_SIZE": "4", "RANK": "0", "MASTER_PORT": "0"}
    plain = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
    command = [PROGRAM, "probe", "env", "--json", "--python", getattr(sys, "_base_executable", sys.executable)]
    tasks = [
        subprocess.Popen(command, cwd=tmp_path, env={**plain, **contract, **slurm(n)}, stdout=subprocess.PIPE)
        for n in range(4)
    ]
    printed = [task.communicate(timeout=170)[0] for task in tasks]
    document = json.loads(printed[0])
    assert printed[1:] == [b"", b"", b""]
    assert [task.returncode for task in tasks] == [1, 0, 0, 0]
    assert [f["id"] for f in document["findings"]].count("env.tasks-same-rank") == 1
    assert not {"env.slurm-rank-differs", "env.launch-rank-missing"} & {f["id"] for f in document["findings"]}
    assert document["facts"]["tasks"] == {"count": 4, "missing": []}
    assert list(tmp_path.iterdir()) == []
