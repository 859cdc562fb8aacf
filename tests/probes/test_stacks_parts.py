"""Which processes are ranks, what py-spy may answer, and which setting is named where it may not look."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from distkb_probes import stacks
from distkb_probes._report import Report, Stopped
from distkb_probes.environment.launch import Table
from distkb_probes.environment.processes import HiddenProcessError, Stat
from distkb_probes.stack import permission, ranks, spy
from distkb_probes.stack.sources import with_sources

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

Row = tuple[int, int, str, dict[str, str]]


def table(*rows: Row) -> Table:
    """Return processes that are not there: pid, parent, command, environment."""
    stats = {pid: Stat(pid, parent, pid, "S") for pid, parent, _, _ in rows}
    words = {pid: command.split() for pid, _, command, _ in rows}
    environments = {pid: environment for pid, _, _, environment in rows}
    return Table(stats, lambda pid: environments.get(pid, {}), lambda pid: words.get(pid, []))


def torchrun(rank: int, port: str = "29500") -> dict[str, str]:
    """Return the environment that torchrun gives to a rank of four on a second machine."""
    return {
        "RANK": str(4 + rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": "8",
        "LOCAL_WORLD_SIZE": "4",
        "MASTER_ADDR": "a",
        "MASTER_PORT": port,
        "TORCHELASTIC_RUN_ID": "x",
    }


def slurm(rank: int) -> dict[str, str]:
    """Return the environment that srun gives to a task of two."""
    return {"SLURM_PROCID": str(rank), "SLURM_NTASKS": "2", "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0"}


AGENT: Row = (10, 1, "/v/bin/python /v/bin/torchrun train.py", {})


def ranked(count: int, *, first: int = 20, port: str = "29500") -> list[Row]:
    """Return ranks below the agent."""
    return [(first + rank, 10, "/v/bin/python -u train.py", torchrun(rank, port)) for rank in range(count)]


@pytest.mark.parametrize("pid", [10, 21, 99])
def test_every_process_of_a_launch_leads_to_its_ranks(pid: int) -> None:
    """The agent, a rank, and a data loader's worker below one; the worker is no rank."""
    worker = (99, 21, "/v/bin/python -u train.py", torchrun(1))
    (job,) = ranks.find((pid,), table(AGENT, *ranked(4), worker))
    assert [(rank.pid, rank.rank) for rank in job] == [(20, 4), (21, 5), (22, 6), (23, 7)]
    assert list(job[0].expected) == [4, 5, 6, 7]


def test_without_a_pid_each_job_is_one_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranks of one job name the same master; workers, launchers and other programs are left out."""
    monkeypatch.setattr(ranks, "_is_mine", lambda _pid: True)
    worker = (99, 21, "/v/bin/python -u train.py", torchrun(1))
    shell = (98, 1, "bash", {"RANK": "0", "WORLD_SIZE": "8"})
    found = ranks.find((), table(AGENT, *ranked(4), worker, shell, *ranked(2, first=50, port="29501")))
    assert [[rank.pid for rank in job] for job in found] == [[20, 21, 22, 23], [50, 51]]


def test_a_slurm_step_without_torchrun_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Srun gives SLURM_PROCID; many scripts set RANK from it themselves."""
    monkeypatch.setattr(ranks, "_is_mine", lambda _pid: True)
    steps = [(20 + rank, 10, "python train.py", slurm(rank)) for rank in range(2)]
    (job,) = ranks.find((), table((10, 1, "slurmstepd: [7.0]", {}), *steps))
    assert [rank.rank for rank in job] == [0, 1]
    assert [rank.world_size for rank in job] == [2, 2]


def test_a_job_of_slurm_has_its_own_ranks_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever else the user left on the node: other jobs and steps, the batch script, distkb itself."""
    monkeypatch.setattr(ranks, "_is_mine", lambda _pid: True)
    batch = {name: value for name, value in slurm(0).items() if name != "SLURM_STEP_ID"}
    processes: list[Row] = [
        (10, 1, "slurmstepd: [7.0]", {}),
        (20, 10, "python train.py", slurm(0)),
        (21, 10, "python train.py", slurm(1)),
        (22, 10, "python train.py", {**slurm(0), "SLURM_STEP_ID": "1"}),
        (23, 10, "python train.py", {**slurm(0), "SLURM_JOB_ID": "8"}),
        (24, 10, "python submit.py", batch),
        (25, 10, "python /v/bin/distkb probe stacks", slurm(0)),
        (26, 1, "python train.py", {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "a", "MASTER_PORT": "1"}),
    ]
    assert [[rank.pid for rank in job] for job in ranks.find((), table(*processes), "7.0")] == [[20, 21]]
    assert [[rank.pid for rank in job] for job in ranks.find((), table(*processes), "7")] == [[20, 21], [22]]
    assert ranks.find((), table(*processes), "9") == []


def test_what_cannot_be_read_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python processes of this user whose environment is hidden, and those that another user's launcher started."""
    monkeypatch.setattr(ranks, "owner_of", lambda pid: os.getuid() if pid < 30 else os.getuid() + 1)
    processes = table(AGENT, (20, 1, "python train.py", {}), (21, 1, "bash", {}), (30, 10, "python train.py", {}))

    def refuse(pid: int) -> dict[str, str]:
        raise HiddenProcessError(pid)

    processes._environment = refuse
    assert ranks.unreadable(processes) == [10, 20]
    assert ranks.of_others(processes) == {os.getuid() + 1: [30]}


def test_hidden_ranks_are_found_below_their_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the right to read environments the launcher's children are the ranks, their numbers unknown."""
    monkeypatch.setattr(ranks, "_is_mine", lambda _pid: True)
    hidden: list[Row] = [(pid, parent, command, {}) for pid, parent, command, _ in ranked(2)]
    (job,) = ranks.find((), table(AGENT, *hidden))
    assert [(rank.pid, rank.rank) for rank in job] == [(20, None), (21, None)]


def test_a_rank_that_is_gone_is_reported() -> None:
    """Torchrun says how many ranks it has started here."""
    report = Report("stacks")
    (job,) = ranks.find((10,), table(AGENT, *ranked(3)))
    stacks._missing(job, report)
    (found,) = report.document()["found"]
    assert found["id"] == "stacks.rank-missing"
    assert found["values"] == {"missing": "7", "n": "3", "of": "4"}


def tool(directory: Path, body: str) -> str:
    """Write a program that stands for py-spy."""
    path = directory / "py-spy"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("echo 'Permission Denied: Try again'; echo 'Error: Permission denied (os error 13)' >&2", "Permission denied"),
        ("echo 'Error: Operation not permitted (os error 1)' >&2; exit 1", "Permission denied"),
        ("echo 'Error: Failed to find python version' >&2; exit 1", "Failed to find python version"),
        ("echo '{}'", "error"),
        ("echo '['", "error"),
        ("exit 0", "error"),
        ("exec sleep 30", "timeout"),
    ],
)
def test_whatever_the_tool_answers_is_an_answer(tmp_path: Path, body: str, error: str) -> None:
    """Refusals, junk and silence end in a reason, in time."""
    began = time.monotonic()
    taken = spy.dump(tool(tmp_path, body), 1, began + 1.0)
    assert (taken.threads, taken.error) == (None, error)
    assert time.monotonic() - began < 25


def reported(monkeypatch: pytest.MonkeyPatch, *, uid: int, owner: int, scope: int | None) -> dict[str, Any]:
    """Return the one finding for a process that py-spy was refused."""
    monkeypatch.setattr(os, "getuid", lambda: uid)
    monkeypatch.setattr(permission, "owner_of", lambda _pid: owner)
    monkeypatch.setattr(permission, "yama", lambda: scope)
    report = Report("stacks")
    permission.report_failures({42: "Permission denied"}, report)
    (found,) = report.document()["found"]
    return dict(found)


@pytest.mark.parametrize(
    ("uid", "owner", "scope", "identity"),
    [
        (1000, 1001, 1, "stacks.no-permission-user"),
        (1000, 1000, 1, "stacks.no-permission-yama"),
        (1000, 1000, 2, "stacks.no-permission-yama"),
        (1000, 1000, 3, "stacks.no-permission-yama-off"),
        (1000, 1000, 0, "stacks.no-permission"),
        (1000, 1000, None, "stacks.no-permission"),
        (0, 1000, 1, "stacks.no-permission"),
    ],
)
def test_the_setting_that_forbids_is_named(
    monkeypatch: pytest.MonkeyPatch, uid: int, owner: int, scope: int | None, identity: str
) -> None:
    """Another user's process, Yama's scope as it is read, or the capability that containers lack."""
    found = reported(monkeypatch, uid=uid, owner=owner, scope=scope)
    assert found["id"] == identity
    if "yama" in identity:
        assert found["values"]["scope"] == str(scope)


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """Start a process that handles SIGUSR1 and is a rank by its environment."""
    code = "import signal, time; signal.signal(signal.SIGUSR1, print); print(1, flush=True); time.sleep(60)"
    environment = {**os.environ, "RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "h", "MASTER_PORT": "1"}
    with subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def test_a_handler_is_seen_and_no_signal_is_sent(sleeper: subprocess.Popen[bytes]) -> None:
    """SigCgt tells whether a signal would end a process."""
    assert permission.handles(sleeper.pid, signal.SIGUSR1)
    assert not permission.handles(sleeper.pid, signal.SIGUSR2)
    assert not permission.handles(1 << 22, signal.SIGUSR1)


def test_without_py_spy_the_way_to_get_it_is_told(
    monkeypatch: pytest.MonkeyPatch, sleeper: subprocess.Popen[bytes]
) -> None:
    """The probe could not run, and says what would help: the tool, and the handler that is there."""
    monkeypatch.setattr(spy, "find_tool", lambda _candidates: None)
    report = Report("stacks")
    with pytest.raises(Stopped):
        stacks.run({"pids": [sleeper.pid], "deadline_s": 10}, report)
    document = report.document()
    assert (document["status"], document["reason"]) == ("skipped", "stacks-no-tool")
    assert {"stacks.no-tool", "stacks.signal-handler"} <= {found["id"] for found in document["found"]}


def test_lines_of_code_are_read_only_from_the_users_python_files(tmp_path: Path) -> None:
    """Secrets in them are masked; files that are no Python or a package's are not opened."""
    script = tmp_path / "train.py"
    script.write_text("x = 1\nwandb.login(key='0123456789012345678901234567890123456789')\n")
    other = tmp_path / "secret.txt"
    other.write_text("do not show\n")
    frames = [
        {"filename": str(path), "line": line} for path, line in ((script, 1), (script, 2), (script, 9), (other, 1))
    ]
    (thread,) = with_sources([{"frames": frames}], os.getpid(), {})
    assert thread["frames"][0]["source"] == "x = 1"
    assert "0123456789" not in json.dumps(thread)
    assert "do not show" not in json.dumps(thread)
    assert "source" not in thread["frames"][2]
