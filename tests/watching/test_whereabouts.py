"""Where the files lie that a probe reads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from distkb.watching.look import LocalJob, may_be_of
from distkb.watching.whereabouts import ProbeFiles, look_for

SBATCH = "#!/bin/bash\n#SBATCH --nodes=2\nsrun torchrun --nproc-per-node 4 train.py\n"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_running_job_says_where_its_script_and_its_files_are(tmp_path: Path) -> None:
    """Its script is found, and what configures it beside it; a job that the session is not about is left out."""
    script, launch = tmp_path / "train.py", tmp_path / "job.sbatch"
    script.write_text("import sys\nprint(flush=True)\nsys.stdin.read()\n", encoding="utf-8")
    launch.write_text(SBATCH, encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "train.py"], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdout.readline()
        job = LocalJob(pids=(process.pid,), name="train.py", logs=(tmp_path / "out.log",))
        assert look_for("script", [job], [], Path("/")) == ProbeFiles((script,), "train.py")
        assert look_for("launch", [job], [], Path("/")) == ProbeFiles((launch,), "train.py")
        other = tmp_path / "other"
        other.mkdir()
        assert look_for("script", [job], [other], Path("/")).job == ""
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def test_what_lies_beside_what_was_read_is_found_and_nothing_is_read_twice(tmp_path: Path) -> None:
    """The scripts beside a folder of logs are offered, those inside it not; without anything nothing is."""
    logs, source = tmp_path / "run" / "logs", tmp_path / "run" / "src"
    for folder in (logs, source):
        folder.mkdir(parents=True)
        (folder / "train.py").write_text("import torch\n", encoding="utf-8")
    assert look_for("script", [], [logs], Path("/")).paths == (source / "train.py",)
    assert look_for("trace", [], [logs], Path("/")) == ProbeFiles()
    assert look_for("script", [], [], Path.home()) == ProbeFiles()


def test_a_job_is_what_a_session_is_about_where_its_log_was_read(tmp_path: Path) -> None:
    """Or where nothing was read at all."""
    job = LocalJob(pids=(1,), name="train.py", logs=(tmp_path / "out.log",))
    assert may_be_of(job, [])
    assert may_be_of(job, [tmp_path])
    assert not may_be_of(job, [tmp_path / "other"])
