"""What Slurm prints of jobs, recorded from Slurm 22.05, and what a watcher takes from it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from distkb.cli.main import cli
from distkb.watching import slurm

RECORDED = Path(__file__).parent / "slurm"


def recorded(name: str) -> slurm.SlurmJob:
    """Read one recording of `scontrol show job`."""
    return slurm.read((RECORDED / f"{name}.txt").read_text(encoding="utf-8"))


def test_a_path_with_a_blank_is_whole_and_a_jobs_name_is_no_field() -> None:
    """The job was called `my job=x StdErr=/etc`."""
    job = recorded("blank")
    assert job.outputs == (Path("/home/alice/out put-5.log"),)
    assert [(task.number, task.name) for task in job.tasks] == [("5", "5")]
    assert job.live


def test_an_array_lives_while_one_of_its_tasks_does() -> None:
    """The record that comes last may be of a task that has ended; those that wait together have no number yet."""
    job = recorded("array-one-ended")
    assert [(task.name, task.state) for task in job.tasks] == [
        ("6_3-9", "PENDING"), ("6_2", "RUNNING"), ("6_1", "CANCELLED"), ("6_0", "RUNNING"),
    ]  # fmt: skip
    assert job.live
    assert [(task.name, task.number) for task in job.running] == [("6_2", "9"), ("6_0", "7")]
    assert not job.waiting[0].single
    assert Path("/home/alice/arr-6_2.err") in job.outputs
    assert Path("/home/alice/arr-6_1.log") not in job.outputs


def test_a_task_of_an_array_has_a_number_of_its_own() -> None:
    """Its ranks have that one in SLURM_JOB_ID."""
    (task,) = recorded("task").running
    assert (task.name, task.number, task.single) == ("6_1", "8", True)


def test_what_has_ended_or_is_no_record_lives_no_more() -> None:
    """A job that Slurm has forgotten has no tasks."""
    ended = (RECORDED / "task.txt").read_text(encoding="utf-8").replace("JobState=RUNNING", "JobState=COMPLETED")
    assert not slurm.read(ended).live
    assert slurm.read("slurm_load_jobs error: Invalid job id specified\n") == slurm.SlurmJob()


def test_an_array_is_not_one_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which of its tasks is meant must be said; what is no number at all is refused before Slurm is asked."""
    tool = tmp_path / "scontrol"
    tool.write_text(f"#!/bin/sh\ncat {RECORDED}/array.txt\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    several = CliRunner().invoke(cli, ["watch", "--lang", "en", "--job", "6"])
    assert (several.exit_code, several.stderr.rstrip().rpartition("--job: ")[2]) == (2, "6_1, 6_0")
    wrong = CliRunner().invoke(cli, ["watch", "--lang", "en", "--job", "-d"])
    assert (wrong.exit_code, "is not a Slurm job" in wrong.stderr) == (2, True)
