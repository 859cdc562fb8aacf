"""Builds facts as the environment probe collects them: a quiet machine, and what a test changes about it."""

from __future__ import annotations

from typing import Any

TORCHRUN = {
    "RANK": "0",
    "LOCAL_RANK": "0",
    "WORLD_SIZE": "2",
    "LOCAL_WORLD_SIZE": "2",
    "GROUP_WORLD_SIZE": "1",
    "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": "29500",
    "OMP_NUM_THREADS": "1",
    "TORCHELASTIC_RUN_ID": "none",
    "TORCHELASTIC_USE_AGENT_STORE": "True",
}
"""What torchrun gives rank 0 of two on one machine."""
SHM = "/dev/shm"  # noqa: S108 - the very directory that is judged
BY_HAND = {name: value for name, value in TORCHRUN.items() if not name.startswith(("TORCHELASTIC", "GROUP"))}
"""The same contract without torchrun."""


def gpus(count: int, *names: str) -> list[dict[str, Any]]:
    """Return that many NVIDIA GPUs."""
    return [
        {
            "index": i,
            "name": names[i] if names else "NVIDIA H200",
            "uuid": f"GPU-{i:08x}",
            "driver": "570.1",
            "mig": False,
        }
        for i in range(count)
    ]


def facts(environment: dict[str, str] | None = None, **changes: Any) -> dict[str, Any]:
    """Return the facts of a machine on which nothing is wrong, with `changes` put in (`machine__shm` goes deep)."""
    found: dict[str, Any] = {
        "request": {"nproc": None, "nnodes": None, "script": None},
        "environment": dict(environment or {}),
        "environment_path": "environment",
        "host": {"hostname": "node0", "user": "kim", "uid": 1000, "container": None},
        "machine": {
            "cores": {"machine": 16, "allowed": 16, "quota": None},
            "memory": {"total": 1 << 37, "available": 1 << 36, "limit": None, "used": None, "oom_kills": 0},
            "shm": {"path": SHM, "size": 1 << 34, "free": 1 << 34, "leftovers": 0},
            "limits": {"nofile": [65536, 65536], "memlock": [None, None], "nproc": [96365, 96365]},
            "pids": {"limit": None, "used": None},
            "infiniband": [],
        },
        "interfaces": [
            {"name": "lo", "up": True, "running": True, "loopback": True, "addresses": ["127.0.0.1", "::1"]},
            {"name": "eth0", "up": True, "running": True, "loopback": False, "addresses": ["10.0.0.5"]},
            {"name": "eth1", "up": True, "running": False, "loopback": False, "addresses": ["10.9.0.5"]},
        ],
        "names": {
            "hostname": {"name": "node0", "addresses": ["10.0.0.5"], "error": None, "seconds": 0.01},
            "master": None,
        },
        "port": port(),
        "gpus": [],
        "gpu_source": {"source": None, "stuck": False},
        "torch": {"state": "ok", "seconds": 1.2, "version": "2.13.0+cpu", "cuda": None, "hip": None, "devices": 0},
        "versions": {"python": "3.11.7", "torch": "2.13.0+cpu"},
    }
    for path, value in changes.items():
        *outer, last = path.split("__")
        place = found
        for name in outer:
            place = place[name]
        place[last] = value
    return found


def port(number: int | None = 29500, *holders: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return what was seen of a port: free, unless there are holders."""
    return {
        "port": number,
        "source": "default",
        "live": False,
        "foreign_net": False,
        "ephemeral": [32768, 60999],
        "first_unprivileged": 1024,
        "listen": "taken" if holders else "free",
        "family": None if holders else "ipv6",
        "ipv6": "taken" if holders else "free",
        "holders": list(holders),
        "unseen": False,
        "closing": False,
        **changes,
    }


def holder(pid: int | None = 4242, **changes: Any) -> dict[str, Any]:
    """Return a process that listens on the port and has nothing to do with the run."""
    known = {"uid": 1001, "state": "listening", "address": "::", "owner": "lee"}
    if pid is None:
        return {"pid": None, **known, **changes}
    more = {"command": "python -m http.server 29500", "user": "lee", "parent": 900}
    return {"pid": pid, **known, **more, "ours": False, "launch": False, "rank": None, **changes}


def resolved(name: str, *addresses: str, **changes: Any) -> dict[str, Any]:
    """Return what a name resolved to."""
    return {
        "name": name,
        "addresses": list(addresses),
        "error": None if addresses else "unknown",
        "seconds": 0.01,
        **changes,
    }


def live(*environments: dict[str, str], **changes: Any) -> dict[str, Any]:
    """Return the facts of a running launch, one process for each environment, pids from 100."""
    processes = [rank(100 + place, environment) for place, environment in enumerate(environments)]
    known = {"environment_path": "/proc/100/environ", "processes": processes, "unreadable": [], "launchers": []}
    return facts(environments[0], **{**known, "port": port(29500, holder(100, ours=True), live=True), **changes})


def rank(pid: int, environment: dict[str, str], **changes: Any) -> dict[str, Any]:
    """Return one process of a running launch."""
    return {
        "pid": pid,
        "parent": 90,
        "state": "S",
        "environment": environment,
        "command": "python train.py",
        "exe": "/usr/bin/python3.11",
        "cwd": "/home/kim",
        "cpus": "0-15",
        "threads": {"S": 4},
        "limits": {"nofile": 65536, "memlock": None, "nproc": 96365},
        "torch": "2.13.0",
        "nccl_path": "/env/lib/libnccl.so.2",
        **changes,
    }
