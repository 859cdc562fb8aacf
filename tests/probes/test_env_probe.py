from __future__ import annotations

import importlib.metadata
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from distkb.probing.env import judge

PROBES = Path(__file__).parents[2] / "probes" / "distkb_probes"
TRAIN = """
import os, pathlib, signal, sys
import torch.distributed as dist
dist.init_process_group("gloo")
dist.barrier()
os.write(1, b"ready\\n")  # in one piece: the ranks share the pipe
signal.pause()
"""
LAUNCH = """
export MASTER_ADDR=127.0.0.1 WORLD_SIZE=3 LOCAL_WORLD_SIZE=3 OMP_NUM_THREADS=1
RANK=0 LOCAL_RANK=0 "$PY" "$SCRIPT" &
NCCL_ALGO=Ring RANK=1 LOCAL_RANK=1 "$PY" "$SCRIPT" &
wait
"""
"""Three ranks are announced and two started, one of them with a variable of its own."""
HOLD = """
import socket, sys
s = socket.socket()
s.bind(("", 0)), s.listen()
print(s.getsockname()[1], flush=True)
sys.stdin.read()
"""
CONTRACT = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


@pytest.fixture
def light(tmp_path: Path) -> dict[str, str]:
    """Return variables that put a torch in place which imports at once, where the real one is not what is tested."""
    (tmp_path / "light" / "torch").mkdir(parents=True)
    (tmp_path / "light" / "torch" / "__init__.py").write_text("raise ImportError('not needed')\n")
    return {"PYTHONPATH": str(tmp_path / "light")}


def probe(
    environ: dict[str, str] | None = None, *, python: str = sys.executable, request: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Run the probe under an interpreter and return its document."""
    environment = {name: value for name, value in os.environ.items() if name not in CONTRACT}
    answer = subprocess.run(
        [python, PROBES, "env"],
        input=json.dumps(request or {}) + "\n",
        capture_output=True,
        text=True,
        env={**environment, **(environ or {})},
        timeout=120,
        check=True,
    )
    document: dict[str, Any] = json.loads(answer.stdout)
    return document


def found(document: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Return the ids that distkb finds in a document, with their values."""
    return {observation.id: observation.values for observation in judge(document["facts"])[0]}


def about_the_run(document: dict[str, Any]) -> set[str]:
    """Return the ids that are found, but for those of the machine on which the tests happen to run."""
    machine = ("shm", "open-files", "processes-low", "locked", "pids", "oom", "memory", "cores", "hostname", "resolver")
    return {identity for identity in found(document) if not identity.startswith(tuple(f"env.{m}" for m in machine))}


def test_this_machine_is_read_and_nothing_wrong_is_made_up() -> None:
    """Without a launch the facts are complete, and the contract of a run that is not there is not missed."""
    document = probe()
    facts = document["facts"]
    assert document["status"] == "ok"
    assert {"environment", "versions", "host", "gpus", "machine", "interfaces", "names", "port", "torch"} <= set(facts)
    assert facts["versions"]["torch"] == facts["torch"]["version"]
    assert facts["torch"]["state"] == "ok"
    assert not {identity for identity in found(document) if identity.startswith(("env.contract", "env.launch"))}


def test_a_held_port_is_told_with_its_holder(light: dict[str, str]) -> None:
    """MASTER_PORT in the hands of a process is found, with pid, command and user."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as held:
        assert held.stdout is not None
        port = held.stdout.readline().strip()
        document = probe({**light, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port})
        held.kill()
    values = found(document)["env.master-port-taken"]
    assert (values["port"], values["pid"]) == (port, str(held.pid))
    assert "s.listen()" in values["command"]
    assert values["user"] == document["facts"]["host"]["user"]


def test_the_contract_of_this_very_environment_is_judged(light: dict[str, str]) -> None:
    """A rank beyond the world, half a contract and a name without an address are found in a real run of the probe."""
    broken = {"RANK": "2", "WORLD_SIZE": "2", "MASTER_ADDR": "no-such-host.invalid"}
    document = probe({**light, **broken, "HF_TOKEN": "hf_0123456789abcdef"})
    identities = set(found(document))
    assert {"env.rank-out-of-range", "env.contract-partial", "env.master-addr-unresolvable"} <= identities
    assert "hf_0123456789abcdef" not in json.dumps(document)


def test_without_torch_everything_else_still_runs() -> None:
    """Under a Python that has no torch the probe says so and judges the rest."""
    python = Path("/usr/bin/python3")
    if (
        not python.exists()
        or subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode == 0
    ):
        pytest.skip("no Python without torch")
    document = probe({"NCCL_SOCKET_IFNAME": "nosuch"}, python=str(python))
    assert document["facts"]["torch"] == {"state": "missing"}
    assert "torch" not in document["facts"]["versions"]
    assert {"env.torch-missing", "env.nccl-interface-none"} <= set(found(document))


def test_a_torch_that_does_not_import_is_told_with_its_error(light: dict[str, str]) -> None:
    """A broken installation is not a missing one: its last line of error is shown."""
    document = probe(light)
    assert found(document)["env.torch-broken"]["error"] == "ImportError: not needed"


def test_a_pid_that_is_not_there_is_an_error() -> None:
    """A process that is gone ends the probe with its own code."""
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        pass
    document = probe(request={"pids": [gone.pid]})
    assert (document["status"], document["reason"], document["detail"]) == ("error", "no-such-process", str(gone.pid))


@pytest.mark.torchrun
def test_a_running_torchrun_job_is_read_and_quiet(tmp_path: Path) -> None:
    """The ranks of a healthy job are found from its agent, and nothing about them is wrong."""
    (tmp_path / "train.py").write_text(TRAIN)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "train.py"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    ) as job:
        assert job.stdout is not None
        try:
            assert [job.stdout.readline(), job.stdout.readline()] == [b"ready\n", b"ready\n"]
            document = probe(request={"pids": [job.pid]})
        finally:
            job.send_signal(signal.SIGTERM)
    facts = document["facts"]
    assert [process["rank"] for process in facts["processes"]] == [0, 1]
    assert {process["torch"] for process in facts["processes"]} == {facts["versions"]["torch"]}
    assert facts["port"]["holders"][0]["pid"] == job.pid
    assert facts["torch"]["state"] == "live"
    assert facts["versions"]["accelerate"] == importlib.metadata.version("accelerate")
    assert about_the_run(document) == set()


@pytest.mark.torchrun
def test_inside_a_torchrun_job_it_is_quiet(tmp_path: Path) -> None:
    """Each rank of a healthy job that looks at itself finds nothing wrong: the port is held, by its own agent."""
    script = tmp_path / "look.sh"
    script.write_text(f'echo "{{}}" | "{sys.executable}" "{PROBES}" env > "$0.$RANK.json"\n')
    command = ["torch.distributed.run", f"--master-port={_free_port()}", "--nproc-per-node=2", "--no-python"]
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    subprocess.run(
        [sys.executable, "-m", *command, "bash", str(script)],
        env=environment,
        capture_output=True,
        timeout=120,
        check=True,
    )
    for rank in range(2):
        document = json.loads((tmp_path / f"look.sh.{rank}.json").read_text(encoding="utf-8"))
        assert document["facts"]["environment"]["RANK"] == str(rank)
        assert document["facts"]["port"]["holders"][0]["ours"]
        assert about_the_run(document) == set()


@pytest.mark.torchrun
def test_a_missing_rank_and_a_differing_environment_are_found_live(tmp_path: Path) -> None:
    """Two of three ranks wait for the third: it is named, and so is the variable in which the two differ."""
    (tmp_path / "train.py").write_text(TRAIN)
    with subprocess.Popen(
        ["bash", "-c", LAUNCH],
        env={
            **os.environ,
            "PY": sys.executable,
            "SCRIPT": str(tmp_path / "train.py"),
            "MASTER_PORT": str(_free_port()),
        },
        start_new_session=True,
    ) as job:
        try:
            _wait_for_children(job.pid, 2)
            document = probe(request={"pids": [job.pid]})
        finally:
            os.killpg(job.pid, signal.SIGKILL)
    told = found(document)
    assert told["env.launch-rank-missing"] == {"missing": "2", "present": "0, 1"}
    differs = told["env.launch-variable-differs"]
    assert (differs["name"], differs["ranks"], differs["value"]) == ("NCCL_ALGO", "1", "Ring")


def _free_port() -> int:
    import socket

    with socket.socket() as tried:
        tried.bind(("", 0))
        return int(tried.getsockname()[1])


def _wait_for_children(pid: int, count: int) -> None:
    """Wait until a process has that many children that run Python."""
    import time

    until = time.monotonic() + 120
    while time.monotonic() < until:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        running = [c for c in children if "RANK=" in Path(f"/proc/{c}/environ").read_text(errors="replace")]
        if len(running) == count:
            return
        time.sleep(0.02)
    raise AssertionError("the ranks did not start")
