"""Which files a job writes, and which of their lines count on."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from distkb.watching.outputs import News, Outputs, written_by


def test_a_counter_that_advances_is_a_step_and_the_same_line_again_is_not(tmp_path: Path) -> None:
    """A retry that prints the same step for ever is no progress."""
    log = tmp_path / "train.log"
    log.write_text("starting\n")
    outputs = Outputs()
    outputs.follow([log])
    assert outputs.look().step is None
    for text, advances in (("step 1 loss 2.0\n", True), ("step 1 loss 2.0\n", False), ("waiting\n", False)):
        with log.open("a") as file:
            file.write(text)
        news = outputs.look()
        assert (news.step is not None) is advances
        assert (news.grew is not None) is not advances
    assert outputs.last_line == "step 1 loss 2.0"


def test_a_progress_bar_counts_on_without_line_breaks(tmp_path: Path) -> None:
    """A tqdm bar is written anew behind a carriage return."""
    log = tmp_path / "train.log"
    log.touch()
    outputs = Outputs()
    outputs.follow([log])
    for step in (1, 2):
        with log.open("a") as file:
            file.write(f"\rtrain:  {step}%|▏         | {step}/100 [00:01<01:39,  1.00it/s]")
        assert outputs.look().step is not None


def test_binary_files_only_grow(tmp_path: Path) -> None:
    """A checkpoint or an event file that grows is progress of another kind, and is no log."""
    path = tmp_path / "events.out"
    path.touch()
    outputs = Outputs()
    outputs.follow([path])
    path.write_bytes(b"step 1\0\0step 2")
    assert outputs.look().step is None
    assert outputs.logs == []


def test_files_are_found_through_descriptors_and_through_tee(tmp_path: Path) -> None:
    """`command | tee FILE` is a log as much as `command > FILE`; what is only read is none."""
    (tmp_path / "input").write_text("x")
    program = "exec 3<input 4>>own.log; echo ready >&2; read line"
    with (
        subprocess.Popen(["tee", "tee.log"], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as tee,
        subprocess.Popen(
            ["sh", "-c", program], cwd=tmp_path, stdin=subprocess.PIPE, stdout=tee.stdin, stderr=subprocess.PIPE
        ) as shell,
    ):
        assert tee.stdin is not None
        assert shell.stderr is not None
        assert shell.stderr.readline() == b"ready\n"
        try:
            end = time.monotonic() + 60
            found: set[str] = set()
            while "tee.log" not in found and time.monotonic() < end:
                found = {os.path.relpath(path, tmp_path) for path in written_by([shell.pid])}
        finally:
            shell.kill()
            tee.stdin.close()
    assert {"own.log", "tee.log"} <= found
    assert "input" not in found


def test_what_distkb_says_in_the_log_of_a_job_is_not_its_progress(tmp_path: Path) -> None:
    """A watcher whose stderr is the job's log says a counter there, and the job is as silent as before."""
    log = tmp_path / "job.log"
    log.write_text("step 1 loss 0.5\n")
    followed = Outputs()
    followed.follow([log])
    with log.open("a") as file:
        file.write("distkb: Rank 1 stands in load at train.py:3.\ndistkb:\n2: distkb: note: goes on: step 7 loss 0.4\n")
    assert followed.look() == News()
    with log.open("a") as file:
        file.write("distkb: note: step 8\nstep 9 loss 0.3\n")
    assert followed.look().line == "step 9 loss 0.3"
