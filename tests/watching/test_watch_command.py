"""`distkb watch` beside real processes: nobody notices it until a job stalls, and it may die at any moment."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
WATCH = [str(BIN / "distkb"), "watch", "--lang", "en"]
JOB = Path(__file__).parent / "jobs" / "stall.py"
PATIENCE_S = 120.0
pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]
looks = pytest.mark.skipif(
    not (BIN / "py-spy").exists() or os.getuid() != 0, reason="looks into processes that are not its children"
)


def until(found: Callable[[], bool], told: Callable[[], str] = str) -> None:
    """Wait until something holds; what is told explains a failure."""
    end = time.monotonic() + PATIENCE_S
    while not found():
        assert time.monotonic() < end, told()
        time.sleep(0.05)


def carrying(mark: str) -> list[int]:
    """Every living process whose environment has STALL_DIR=mark."""
    found = []
    for path in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if path.name.isdigit() and f"STALL_DIR={mark}".encode() in (path / "environ").read_bytes().split(b"\0"):
                found.append(int(path.name))
    return found


def told_in(err: Path) -> str:
    """What distkb said, without the word that begins its lines."""
    lines = err.read_text().splitlines()
    return " ".join(" ".join(line.removeprefix("distkb:") for line in lines if line.startswith("distkb:")).split())


@contextlib.contextmanager
def job(
    directory: Path, kind: str, *watch: str, together: bool = False
) -> Iterator[tuple[subprocess.Popen[bytes], Path, Path]]:
    """Two ranks below a watcher; yields it with the files of its stdout and stderr, which are one where `together`."""
    out, err = directory / "out.log", directory / ("out.log" if together else "err.log")
    torchrun = [str(BIN / "torchrun"), "--standalone", "--nproc-per-node", "2", str(JOB), kind, "1", "5", "0.05"]
    command = [*WATCH, *watch, "--out", str(directory / "kept"), "--", *torchrun] if watch else torchrun
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "STALL_DIR": str(directory)}
    with out.open("ab") as stdout, err.open("ab") as stderr:
        process = subprocess.Popen(command, stdout=stdout, stderr=stderr, env=environment, start_new_session=True)
    try:
        yield process, out, err
    finally:
        for pid in carrying(str(directory)):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        process.wait(PATIENCE_S)


def test_output_and_exit_code_are_the_commands_own(tmp_path: Path) -> None:
    """Byte for byte on both streams, stdin too, and nothing of ours as long as nothing happens."""
    program = "cat; printf 'a\\0\\377\\r\\n'; printf 'e\\033[1m' >&2; exit 7"
    for tee in ([], ["--tee", str(tmp_path)]):
        done = subprocess.run(
            [*WATCH, *tee, "--", "sh", "-c", program], input=b"in", capture_output=True, timeout=PATIENCE_S, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (7, b"ina\0\xff\r\n", b"e\x1b[1m")
    assert (tmp_path / "stdout.log").read_bytes() == b"ina\0\xff\r\n"


def test_a_command_that_does_not_exist_is_one_line() -> None:
    """Exit code 3, as for everything that is needed and missing."""
    done = subprocess.run([*WATCH, "--", "no-such-program"], capture_output=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 3
    assert done.stderr == b"distkb: error: `no-such-program` cannot be started\n"


def test_signals_reach_the_command_and_its_end_is_told_as_a_shell_does() -> None:
    """What is sent to the watcher was meant for the command: a handler runs; without one it dies of the signal."""
    program = "trap 'echo got; exit 5' TERM; echo ready; while :; do sleep 0.1; done"
    for words, code, said in ((["sh", "-c", program], 5, b"got\n"), (["sleep", "1000"], 128 + signal.SIGTERM, b"")):
        with subprocess.Popen([*WATCH, "--", *words], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            if said:
                assert process.stdout.readline() == b"ready\n"
            else:
                children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
                until(lambda children=children: bool(children.read_text().strip()))  # type: ignore[misc]
            process.send_signal(signal.SIGTERM)
            assert process.stdout.read() == said
            assert process.wait(PATIENCE_S) == code


def test_a_terminal_stays_a_terminal() -> None:
    """Progress bars and colours are what they are without us."""
    ours, theirs = pty.openpty()
    words = [*WATCH, "--", "sh", "-c", "test -t 0 && test -t 1 && test -t 2"]
    try:
        done = subprocess.run(words, stdin=theirs, stdout=theirs, stderr=theirs, timeout=PATIENCE_S, check=False)
        assert done.returncode == 0
    finally:
        os.close(ours)
        os.close(theirs)


@pytest.mark.torchrun
@looks
@pytest.mark.parametrize("together", [False, True])
def test_a_stall_is_named_and_kept_and_its_end_is_told(tmp_path: Path, together: bool) -> None:
    """The rank and its line come first; secrets are masked; a command of the user's learns where all of it is.

    Nothing of it counts as the job's own words where both write to one file.
    """
    told = tmp_path / "told"
    line = next(n for n, text in enumerate(JOB.read_text().splitlines(), 1) if "# line: until" in text)
    tell = f'cat "$DISTKB_ANSWER"; echo "$DISTKB_BUNDLE" > {told}'
    with job(tmp_path, "until", "--stall", "6s", "--exec", tell, together=together) as (process, out, err):
        until(lambda: told.exists() and told.read_text().endswith("\n"), err.read_text)
        said = told_in(err)
        assert f"Rank 1 stands in wait_for_file at stall.py:{line}" in said
        bundle = Path(told.read_text().strip())
        assert {path.name for path in bundle.iterdir()} >= {
            "stacks",
            "logs",
            "env.json",
            "watched.json",
            "diagnosis.json",
        }
        kept = b"".join(path.read_bytes() for path in bundle.rglob("*") if path.is_file())
        assert b"hf_abcdefghijklmnopqrstuvwxyz123456" in out.read_bytes()
        assert b"hf_abcdefghijklmnopqrstuvwxyz123456" not in kept
        assert all(path.stat().st_mode & 0o077 == 0 for path in bundle.rglob("*"))
        words = re.sub(r"/\S+", "", bundle.with_name(f"{bundle.name}.txt").read_text())  # a folder may have our name
        assert "distkb" not in words.split("distkb show")[0]
        assert "goes on" not in err.read_text()
        (tmp_path / "go").touch()
        until(lambda: "the job goes on after" in err.read_text(), err.read_text)
        assert process.poll() is None


@pytest.mark.torchrun
@looks
@pytest.mark.parametrize(
    ("kind", "first", "cause"),
    [
        ("stop", "Rank 1 is stopped by a signal", "kill -CONT"),
        ("dead", "Rank 1 is gone", "Rank 1 has no process any more"),
    ],
)
def test_what_became_of_a_rank_is_the_answer(tmp_path: Path, kind: str, first: str, cause: str) -> None:
    """That a process is stopped, or no longer there, is in no log and no stack: the diagnosis knows it all the same."""
    (tmp_path / "stop").touch()
    with job(tmp_path, kind, "--stall", "6s") as (_, _, err):
        until(lambda: "all that was seen is in" in err.read_text(), err.read_text)
        said = told_in(err)
        assert first in said
        assert cause in said, said


@pytest.mark.torchrun
@looks
def test_a_job_that_runs_is_attached_to_and_the_watcher_may_die(tmp_path: Path) -> None:
    """`--once` ends with exit code 1 at the stall; a killed watcher leaves the job, and nothing of itself."""
    with job(tmp_path, "until") as (process, out, _):
        until(lambda: b"step 5" in out.read_bytes(), out.read_text)
        mark = {**os.environ, "STALL_DIR": f"{tmp_path}/watcher"}
        words = [*WATCH, "--pid", str(process.pid), "--stall", "4s", "--once", "--out", str(tmp_path / "kept")]
        done = subprocess.run(words, capture_output=True, text=True, env=mark, timeout=PATIENCE_S, check=False)
        assert done.returncode == 1, done.stderr
        assert done.stdout.startswith("Rank 1 stands in wait_for_file")
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=mark) as watcher:
            until(lambda: len(carrying(f"{tmp_path}/watcher")) > 1)  # it has begun to look closely
            watcher.kill()
        until(lambda: not carrying(f"{tmp_path}/watcher"))
        assert process.poll() is None
