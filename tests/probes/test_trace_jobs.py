"""The tracer in real torchrun jobs that hang, and what the reader says of what it left."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from distkb.evidence.artifact import ArtifactReading
from distkb.evidence.readers.traces import find_traces, read_traces

pytest.importorskip("torch")
pytestmark = pytest.mark.torchrun
JOB = Path(__file__).parent / "trace_jobs" / "hang.py"
PROBES = Path(__file__).parents[2] / "probes"


def started(folder: Path, nproc: int, **wishes: str) -> subprocess.Popen[bytes]:
    """The job in a session of its own, its output in `out.log`."""
    env = {**os.environ, "PYTHONPATH": str(PROBES), "OMP_NUM_THREADS": "1", "HANG_DIR": str(folder)}
    env |= {"DISTKB_TRACE_DIR": str(folder / "traces"), **{f"HANG_{key.upper()}": v for key, v in wishes.items()}}
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={nproc}", str(JOB)]
    with (folder / "out.log").open("wb") as out:
        return subprocess.Popen(
            command, env=env, stdout=out, stderr=subprocess.STDOUT, start_new_session=True, cwd=folder
        )


def until(job: subprocess.Popen[bytes], ready: Callable[[], bool]) -> None:
    """Wait for what the job is to write, then end all of its processes."""
    end = time.monotonic() + 120
    try:
        while not ready():
            assert time.monotonic() < end, "the job did not come so far"
            if job.poll() is not None:
                break
            time.sleep(0.05)
    finally:
        if job.poll() is None:
            # torchrun gives each rank a session of its own, so the ranks are ended by their pids
            job.send_signal(signal.SIGSTOP)
            for pid in children(job.pid):
                os.kill(pid, signal.SIGKILL)
            os.killpg(job.pid, signal.SIGKILL)
        job.wait()


def children(pid: int) -> list[int]:
    """Pids of the processes that this one started."""
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in path.read_text().split()] if path.exists() else []


def text(folder: Path, rank: int) -> str:
    """What the rank's trace file holds so far."""
    path = folder / "traces" / f"trace-rank-{rank}.log"
    return path.read_text(encoding="utf-8") if path.exists() else ""


def hung(folder: Path, nproc: int, marks: dict[int, str], **wishes: str) -> ArtifactReading:
    """Run a job until each rank has written its mark and was then quiet; read its traces."""

    def ready() -> bool:
        parts = {rank: text(folder, rank).partition(mark) for rank, mark in marks.items()}
        return all(found and "kind=quiet" in after for _, found, after in parts.values())

    until(started(folder, nproc, quiet="1.5", **wishes), ready)
    return read_traces([folder / "traces"])


def found(reading: ArtifactReading) -> dict[str, dict[str, str]]:
    """Findings with their values, without the note that the stacks are there."""
    return {o.id: o.values for o in reading.observations if o.id != "trace.quiet"}


def test_a_rank_alone_in_its_evaluation_is_named(tmp_path: Path) -> None:
    """Rank 1 of 3 stays in its span: it is the suspect, the barrier of the others is what they wait in."""
    reading = hung(tmp_path, 3, {0: '"barrier"', 1: '"evaluate"', 2: '"barrier"'}, rank="1", place="evaluate")
    values = found(reading)["trace.rank-in-side-work"]
    assert values == {"ranks": "1", "others": "0, 2", "last": "enter evaluate", "front": "enter barrier"}
    assert reading.facts["outliers"] == [1]
    assert reading.facts["implies"] == ["symptom=hang"]
    row = reading.facts["ranks"][1]
    assert row["stack"], "the stack of the quiet rank is read"
    assert "hang.py" in row["stack"][0]
    # the same lines behind torchrun's prefixes, or in the job's output alone
    assert found(read_traces([tmp_path / "out.log"])) == {"trace.rank-in-side-work": values}


def test_a_rank_that_never_enters_the_first_forward_is_named(tmp_path: Path) -> None:
    """Rank 0 is in the first backward or forward, rank 1 stopped after wrapping."""
    reading = hung(
        tmp_path, 2, {0: '"first backward"', 1: '"DistributedDataParallel"'}, rank="1", place="before forward"
    )
    (identity,) = found(reading)
    assert identity in ("trace.rank-behind", "trace.first-forward-not-entered")
    assert found(reading)[identity]["ranks"] == "1"
    assert found(reading)[identity]["last"] == "leave DistributedDataParallel"


def test_a_rank_that_does_not_join_leaves_the_others_in_init(tmp_path: Path) -> None:
    """The rank that stopped before init_process_group is behind; SIGUSR1 adds its stacks to its file."""
    folder = tmp_path
    job = started(folder, 2, rank="1", place="start", quiet="0")

    def ready() -> bool:
        if '"init_process_group"' not in text(folder, 0) or "kind=env" not in text(folder, 1):
            return False
        if "in here" in text(folder, 1):
            return True
        # it is asked again until it stands where it will stay
        os.kill(int(text(folder, 1).split(" pid=")[1].split()[0]), signal.SIGUSR1)
        return False

    until(job, ready)
    values = found(read_traces([folder / "traces"]))["trace.rank-behind"]
    assert (values["ranks"], values["others"], values["front"]) == ("1", "0", "enter init_process_group")


def test_a_rank_that_fails_is_the_cause(tmp_path: Path) -> None:
    """An exception ends the tracer's file with its text, and that is what is reported."""
    until(started(tmp_path, 2, place="fail"), lambda: False)
    reading = read_traces([tmp_path / "traces"])
    assert found(reading)["trace.rank-failed"]["error"] == "ValueError: a bad shard"
    assert reading.facts["pattern"] == "failed"


def test_a_healthy_job_has_nothing_wrong(tmp_path: Path) -> None:
    """All ranks end, the marks of init, wrapping, forward, backward, step, save and barrier are there."""
    job = started(tmp_path, 2, quiet="60")
    until(job, lambda: False)
    assert job.returncode == 0, (tmp_path / "out.log").read_text()
    reading = read_traces([tmp_path / "traces"])
    assert reading.observations == ()
    assert reading.facts["pattern"] == "finished"
    lines = text(tmp_path, 0)
    names = ("init_process_group", "DistributedDataParallel", "first forward", "first backward", "optimizer step 1")
    for name in (*names, "torch.save", "evaluate", "barrier"):
        assert f'kind=enter name="{name}"' in lines, name
        assert f'kind=leave name="{name}"' in lines, name
    assert socket.gethostname()[:4] in lines
    assert len(find_traces([tmp_path])) == 3, "two trace files and the job's output"
