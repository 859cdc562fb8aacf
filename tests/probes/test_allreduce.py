"""The smoke test on real torchrun jobs: what it says when all is well, and who it names when not."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from allreduce_runs import PROBES, WAIT_S, document, environment, found, free_port, rank_pid, started

pytestmark = pytest.mark.torchrun


def test_two_ranks_pass_every_stage_and_leave_nothing_behind(tmp_path: Path) -> None:
    """A sound machine gets a clean verdict with correct collectives, a full table and no files left."""
    before = _processor_seconds()
    with started({"nproc": 2}, tmp_path) as process:
        held = document(process)
    used = _processor_seconds() - before
    facts = held["facts"]
    assert (held["status"], held["found"]) == ("ok", [])
    assert (facts["world_size"], facts["backend"], facts["stage"]) == (2, "gloo", "done")
    assert set(facts["correctness"].values()) <= {"ok", "unsupported"}
    assert facts["correctness"]["all_reduce_sum"] == facts["correctness"]["barrier"] == "ok"
    reduced = [point for point in facts["sizes"] if point["op"] == "all_reduce"]
    assert reduced[0]["bytes"] == 4
    assert len(reduced) >= 5
    assert all(point["time_us"] > 0 for point in facts["sizes"])
    assert {"broadcast", "all_gather"} <= {point["op"] for point in facts["sizes"]}
    # Processor time, not the clock: the machine that runs the tests is shared.
    assert used < 15
    assert "allreduce.hang" in held["clear"]
    assert not list(tmp_path.glob("**/distkb-allreduce-*"))


def test_a_suspended_rank_is_named_with_the_stage(tmp_path: Path) -> None:
    """A rank under SIGSTOP is the one that is missing; its peer shows where it waits."""
    with started({"nproc": 2, "deadline_s": 20}, tmp_path) as process:
        pid = rank_pid(tmp_path, 1, "first-collective")
        os.kill(pid, signal.SIGSTOP)
        held = document(process)
    hang = found(held)["allreduce.hang"]
    assert hang["values"]["missing"] == "1"
    assert hang["values"]["reached"] == "0"
    assert hang["values"]["stage"] in {"first-collective", "correctness", "bandwidth"}
    assert any(quote["rank"] == 0 and "line" in quote["text"] for quote in hang["quotes"])
    assert found(held)["allreduce.rank-stopped"]["values"] == {"rank": "1", "pid": str(pid), "host": hang_host(held)}
    assert held["elapsed_s"] < 20
    until = time.monotonic() + 5.0  # the answer is out a moment before the last process is reaped
    while Path(f"/proc/{pid}").exists() and time.monotonic() < until:
        time.sleep(0.01)
    assert not Path(f"/proc/{pid}").exists()


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def hang_host(held: dict[str, object]) -> str:
    """Return the one host of the run."""
    facts = held["facts"]
    assert isinstance(facts, dict)
    return str(facts["hosts"][0])


def test_a_killed_rank_is_named_and_its_peers_errors_are_not(tmp_path: Path) -> None:
    """A rank under SIGKILL is the finding; that the other one lost its connection is an echo."""
    with started({"nproc": 2}, tmp_path) as process:
        os.kill(rank_pid(tmp_path, 1, "first-collective"), signal.SIGKILL)
        held = document(process)
    assert list(found(held)) == ["allreduce.rank-killed"], held
    assert found(held)["allreduce.rank-killed"]["values"]["rank"] == "1"


def test_a_node_that_never_comes_is_counted(tmp_path: Path) -> None:
    """With one of two nodes the verdict is that one of two came, within the deadline."""
    request = {"nnodes": 2, "nproc": 1, "rdzv_endpoint": f"127.0.0.1:{free_port()}", "deadline_s": 20}
    with started(request, tmp_path) as process:
        held = document(process)
    missing = found(held)["allreduce.node-missing"]["values"]
    assert (missing["came"], missing["nnodes"], missing["stage"]) == ("1", "2", "rendezvous")
    assert held["elapsed_s"] < 20


def test_two_nodes_meet_and_both_give_the_verdict(tmp_path: Path) -> None:
    """Two launches on one endpoint form one world; each one reports the whole."""
    request = {
        "nnodes": 2,
        "nproc": 1,
        "rdzv_endpoint": f"127.0.0.1:{free_port()}",
        "deadline_s": 60,
        "max_bytes": 1 << 16,
    }
    with started(request, tmp_path) as first, started(request, tmp_path) as second:
        held = [document(first), document(second)]
    assert [item["status"] for item in held] == ["ok", "ok"]
    assert [item["found"] for item in held] == [[], []]
    assert [item["facts"]["world_size"] for item in held] == [2, 2]
    assert all(item["facts"]["sizes"] for item in held)


def test_inside_torchrun_every_process_is_one_rank(tmp_path: Path) -> None:
    """Started by torchrun, each probe is the rank that it was started as and forms one world with the others."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command += [f"--log-dir={tmp_path / 'logs'}", "--redirects=1", str(PROBES / "__main__.py")]
    command += ["allreduce", json.dumps({"inside": None, "max_bytes": 1 << 16})]
    subprocess.run(command, env=environment(tmp_path), check=True, timeout=WAIT_S, capture_output=True)
    held = [json.loads(path.read_text()) for path in sorted(tmp_path.glob("logs/*/attempt_0/*/stdout.log"))]
    assert [item["status"] for item in held] == ["ok", "ok"]
    assert [item["facts"]["rank"] for item in held] == [0, 1]
    assert [item["facts"]["world_size"] for item in held] == [2, 2]


def test_a_rank_that_nobody_started_is_named(tmp_path: Path) -> None:
    """In a world of two of which one was started, the roll call names the other."""
    alone = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    command = [sys.executable, str(PROBES), "allreduce", json.dumps({"inside": True, "deadline_s": 12})]
    printed = subprocess.run(
        command, env={**environment(tmp_path), **alone}, check=True, timeout=WAIT_S, capture_output=True
    ).stdout
    missing = found(json.loads(printed))["allreduce.rank-missing"]["values"]
    assert (missing["missing"], missing["reached"], missing["world"]) == ("1", "0", "2")


def test_a_master_that_does_not_answer_is_the_finding(tmp_path: Path) -> None:
    """A rank whose MASTER_ADDR and MASTER_PORT lead nowhere says that, not that everything hangs."""
    alone = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    command = [sys.executable, str(PROBES), "allreduce", json.dumps({"inside": True, "deadline_s": 30})]
    printed = subprocess.run(
        command, env={**environment(tmp_path), **alone}, check=True, timeout=WAIT_S, capture_output=True
    ).stdout
    values = found(json.loads(printed))["allreduce.unreachable"]["values"]
    assert (values["rank"], values["stage"], values["port"]) == ("1", "store", alone["MASTER_PORT"])


def test_an_interface_that_does_not_exist_is_the_finding(tmp_path: Path) -> None:
    """Gloo's complaint about GLOO_SOCKET_IFNAME becomes its own finding; what the ranks printed can be kept."""
    kept = tmp_path / "kept"
    command = [sys.executable, str(PROBES), "allreduce", json.dumps({"nproc": 1, "logs": str(kept)})]
    wrong = {"GLOO_SOCKET_IFNAME": "nosuch0"}
    printed = subprocess.run(
        command, env={**environment(tmp_path), **wrong}, check=True, timeout=WAIT_S, capture_output=True
    ).stdout
    item = found(json.loads(printed))["allreduce.no-interface"]
    assert item["values"]["stage"] == "communicator"
    assert "nosuch0" in item["quotes"][0]["text"]
    assert "nosuch0" in (kept / "rank-0.err.log").read_text()


def test_a_taken_master_port_is_the_finding(tmp_path: Path) -> None:
    """Where another program listens on the master port, rank 0 says so and the finding names the port."""
    import socket

    with socket.socket() as holder:
        holder.bind(("0.0.0.0", 0))  # noqa: S104 - that is what the store binds to
        holder.listen()
        port = str(holder.getsockname()[1])
        alone = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        command = [sys.executable, str(PROBES), "allreduce", json.dumps({"inside": True, "deadline_s": 20})]
        printed = subprocess.run(
            command, env={**environment(tmp_path), **alone}, check=True, timeout=WAIT_S, capture_output=True
        ).stdout
    assert found(json.loads(printed))["allreduce.address-in-use"]["values"]["port"] == port


def test_an_interpreter_without_torch_is_skipped(tmp_path: Path) -> None:
    """A Python that has no torch is no failure of the job: the probe says what is not there."""
    empty = tmp_path / "empty"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(empty)], check=True)
    with started({}, tmp_path, python=str(empty / "bin" / "python")) as process:
        held = document(process)
    assert (held["status"], held["reason"]) == ("skipped", "no-torch")
