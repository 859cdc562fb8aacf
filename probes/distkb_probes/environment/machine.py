"""The limits of this machine and container: cores, memory, shared memory, descriptors, and what rules the network."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
from pathlib import Path
from typing import Any

SHM = Path("/dev/shm")  # noqa: S108 - the very directory that is judged
_CGROUP = Path("/sys/fs/cgroup")
_UNLIMITED = 1 << 60
"""A cgroup (v1) without a limit shows a number near 2**63."""


def limits() -> dict[str, list[int | None]]:
    """Return soft and hard limit of open files, locked memory (bytes) and processes; None is unlimited."""
    kinds = {"nofile": resource.RLIMIT_NOFILE, "memlock": resource.RLIMIT_MEMLOCK, "nproc": resource.RLIMIT_NPROC}
    return {
        name: [None if value == resource.RLIM_INFINITY else value for value in resource.getrlimit(kind)]
        for name, kind in kinds.items()
    }


def cores() -> dict[str, Any]:
    """Return the machine's cores, those this process may run on, and the cgroup's share of them (cores, or None)."""
    allowed = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    return {"machine": os.cpu_count() or 1, "allowed": len(allowed) or os.cpu_count() or 1, "quota": _quota()}


def _quota() -> float | None:
    for directory in _cgroups("cpu"):
        two = _words(directory / "cpu.max")
        if len(two) == 2 and two[0].isdigit() and int(two[1]) > 0:
            return int(two[0]) / int(two[1])
        quota, period = _number(directory / "cpu.cfs_quota_us"), _number(directory / "cpu.cfs_period_us")
        if quota is not None and period and quota > 0:
            return quota / period
    return None


def memory() -> dict[str, Any]:
    """Return bytes of the machine's memory, and the tightest limit of the cgroups with what is used below it."""
    found: dict[str, Any] = {"total": None, "available": None, "limit": None, "used": None, "oom_kills": 0}
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            name, _, rest = line.partition(":")
            if name in ("MemTotal", "MemAvailable"):
                found["total" if name == "MemTotal" else "available"] = int(rest.split()[0]) * 1024
    for directory in _cgroups("memory"):
        limit = _first(directory, "memory.max", "memory.limit_in_bytes")
        if limit is not None and limit < _UNLIMITED and (found["limit"] is None or limit < found["limit"]):
            found["limit"], found["used"], found["cgroup"] = limit, _working_set(directory), str(directory)
        found["oom_kills"] = max(found["oom_kills"], _oom_kills(directory))
    return found


def _working_set(directory: Path) -> int | None:
    """Return used bytes without file pages that the kernel can drop at once."""
    used = _first(directory, "memory.current", "memory.usage_in_bytes")
    statistics = _table(directory / "memory.stat")
    droppable = statistics.get("inactive_file", statistics.get("total_inactive_file", 0))
    return None if used is None else max(0, used - droppable)


def _oom_kills(directory: Path) -> int:
    for name in ("memory.events", "memory.oom_control"):
        if (kills := _table(directory / name).get("oom_kill")) is not None:
            return kills
    return 0


def pids() -> dict[str, int | None]:
    """Return the cgroup's limit of processes and threads, and how many there are."""
    for directory in _cgroups("pids"):
        limit = _number(directory / "pids.max")
        if limit is not None:
            return {"limit": limit, "used": _number(directory / "pids.current")}
    return {"limit": None, "used": None}


def shared_memory(path: Path = SHM) -> dict[str, Any] | None:
    """Return size and free bytes of /dev/shm, and what torch and NCCL left in it; None where there is none."""
    try:
        usage = shutil.disk_usage(path)
        names = os.listdir(path)  # noqa: PTH208 - names only
    except OSError:
        return None
    left = [name for name in names if name.startswith(("nccl-", "torch_", "psm2_", "psm_", "sem.mp-", "cuda.shm"))]
    return {"path": str(path), "size": usage.total, "free": usage.free, "leftovers": len(left)}


def infiniband() -> list[str]:
    """Return the names of the RDMA devices."""
    with contextlib.suppress(OSError):
        return sorted(os.listdir("/sys/class/infiniband"))  # noqa: PTH208 - names only
    return []


def container() -> str | None:
    """Return what kind of container this process is in, where it shows."""
    if os.environ.get("KUBERNETES_SERVICE_HOST"):
        return "kubernetes"
    marks = (("/.dockerenv", "docker"), ("/run/.containerenv", "podman"), ("/singularity", "apptainer"))
    return next((kind for path, kind in marks if Path(path).exists()), None)


def _cgroups(controller: str) -> list[Path]:
    """Return the directories of this process's cgroup, innermost first: limits of all of them hold."""
    found: list[Path] = []
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text(encoding="utf-8", errors="replace").splitlines():
            _, names, path = line.split(":", 2)
            root = _CGROUP if not names else _CGROUP / controller
            if names and controller not in names.split(","):
                continue
            inner = root / path.lstrip("/")
            while inner != root and root in inner.parents:
                found.append(inner)
                inner = inner.parent
            found.append(root)
    return [directory for directory in found if directory.is_dir()]


def _first(directory: Path, *names: str) -> int | None:
    return next((number for name in names if (number := _number(directory / name)) is not None), None)


def _number(path: Path) -> int | None:
    words = _words(path)
    return int(words[0]) if len(words) == 1 and words[0].lstrip("-").isdigit() else None


def _words(path: Path) -> list[str]:
    with contextlib.suppress(OSError):
        return path.read_text(encoding="ascii", errors="replace").split()
    return []


def _table(path: Path) -> dict[str, int]:
    words = _words(path)
    return {name: int(value) for name, value in zip(words[::2], words[1::2], strict=False) if value.isdigit()}
