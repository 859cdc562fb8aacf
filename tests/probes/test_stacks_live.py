"""`distkb probe stacks` names the odd rank of real hanging jobs, and leaves them as they were."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parent / "stack_jobs" / "hang.py"
BIN = Path(sys.executable).parent
DISTKB = str(BIN / "distkb")
needs_ptrace = pytest.mark.skipif(
    sys.platform != "linux" or not (BIN / "py-spy").exists() or os.getuid() != 0,
    reason="looks into processes that are not its children",
)
pytestmark = [pytest.mark.torchrun, needs_ptrace]


@contextlib.contextmanager
def job(mode: str, ranks: int, directory: Path, *, torchrun: bool = True) -> Iterator[int]:
    """Run the script until every rank is about to hang; yields the pid of torchrun or of the first rank."""
    ready = directory / "ready"
    ready.mkdir()
    with contextlib.ExitStack() as stack:
        log = stack.enter_context((directory / "out.log").open("wb"))
        started = []
        for command, more in commands(ranks, torchrun=torchrun):
            environment = {**os.environ, "OMP_NUM_THREADS": "1", **more}
            line = [*command, str(SCRIPT), mode, str(ready)]
            started.append(subprocess.Popen(line, stdout=log, stderr=log, env=environment, start_new_session=True))
            stack.callback(end, started[-1])
        until = time.monotonic() + 120
        while len(list(ready.iterdir())) < ranks:
            assert all(process.poll() is None for process in started), (directory / "out.log").read_text()
            assert time.monotonic() < until, (directory / "out.log").read_text()
            time.sleep(0.02)
        yield started[0].pid
        assert all(process.poll() is None for process in started), "the probe ended the job"


def commands(ranks: int, *, torchrun: bool) -> list[tuple[list[str], dict[str, str]]]:
    """Return what to start: torchrun, or each rank by hand with its variables."""
    if torchrun:
        return [([str(BIN / "torchrun"), "--standalone", "--nproc-per-node", str(ranks)], {})]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    common = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(ranks)}
    return [([sys.executable], {**common, "RANK": str(rank), "LOCAL_RANK": str(rank)}) for rank in range(ranks)]


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process with all that it has started."""
    os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def probe(*arguments: object, before: tuple[str, ...] = ()) -> tuple[int, dict[str, Any]]:
    """Run the probe and return its exit code and answer."""
    command = [*before, DISTKB, "probe", "stacks", "--json", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def states(agent: int) -> list[str]:
    """Return the state letters of torchrun's children."""
    children = Path(f"/proc/{agent}/task/{agent}/children").read_text().split()
    return [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] for pid in children]


def found(answer: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the findings by id."""
    return {finding["id"]: finding for finding in answer["findings"]}


def line_of(code: str) -> int:
    """Return the first line of the script that holds a piece of code."""
    return next(n for n, line in enumerate(SCRIPT.read_text().splitlines(), 1) if code in line)


def test_a_rank_that_saves_while_the_others_reduce(tmp_path: Path) -> None:
    """Live, from what was saved, and without the permission to look: each says what it can."""
    with job("save", 3, tmp_path) as agent:
        code, answer = probe("--pid", agent, "--save", tmp_path / "saved")
        assert code == 1
        odd = found(answer)["stacks.one-rank-elsewhere"]
        assert (odd["values"]["odd"], odd["values"]["function"]) == ("1", "save_checkpoint")
        assert (odd["values"]["ranks"], odd["values"]["call"]) == ("0, 2", "all_reduce")
        assert odd["evidence"][0]["path"] == str(SCRIPT)
        assert "time.sleep(120)" in odd["evidence"][0]["text"]
        assert "stacks.rank-in-save-or-eval" in found(answer)
        assert "stacks.ranks-moving" not in found(answer)
        assert not {"T", "t"} & set(states(agent))

        if shutil.which("capsh"):
            drop = ("capsh", "--drop=cap_sys_ptrace", "--", "-c", 'exec "$0" "$@"')
            refused, denied = probe("--pid", agent, before=drop)
            assert (refused, denied["status"]) == (3, "skipped")
            assert {"stacks.no-permission", "stacks.signal-handler"} <= found(denied).keys()
            assert "SYS_PTRACE" in found(denied)["stacks.no-permission"]["fix"]["en"]
        assert len(states(agent)) == 3
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "saved").iterdir())
    code, again = probe(tmp_path / "saved")
    assert code == 1
    assert found(again)["stacks.one-rank-elsewhere"]["values"] == odd["values"]


def test_a_barrier_that_only_rank_zero_calls(tmp_path: Path) -> None:
    """D21: rank 0 waits in a barrier, the other one in its all_reduce or backward."""
    with job("barrier", 2, tmp_path) as agent:
        code, answer = probe("--pid", agent)
    assert code == 1
    odd = found(answer)["stacks.rank-in-barrier"]
    assert (odd["values"]["odd"], odd["values"]["function"]) == ("0", "barrier")
    assert odd["values"]["there"] == f"hang.py:{line_of('dist.barrier()')}"
    assert odd["entry"] == "D21"


def test_a_rank_whose_data_loader_is_slow(tmp_path: Path) -> None:
    """The rank stands in the loader; the loader's own process is no rank."""
    with job("loader", 2, tmp_path, torchrun=False) as agent:
        _, answer = probe("--pid", agent)
    odd = found(answer)["stacks.rank-in-dataloader"]
    assert (odd["values"]["odd"], odd["values"]["ranks"]) == ("1", "0")
    assert answer["facts"]["stacks"]["ranks"] == 2


def test_a_job_that_runs_is_not_stuck(tmp_path: Path) -> None:
    """Ranks that go on between the snapshots are told as such, and nothing is wrong."""
    with job("moving", 2, tmp_path, torchrun=False) as agent:
        # Two snapshots may show the same line by chance: a few tries tell.
        assert any(went_on(*probe("--pid", agent)) for _ in range(4))


def went_on(code: int, answer: dict[str, Any]) -> bool:
    """Whether the probe says that the job is not stuck, and calls nothing wrong."""
    return "stacks.ranks-moving" in found(answer) and code == 0
