"""Memory per rank: CUDA's allocator, resident memory, the host, /dev/shm; and who differs much from the others."""

from __future__ import annotations

import os
import socket
import statistics
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from distkb_probes.live._check import Check, Verdict
from distkb_probes.live._exchange import Sheet
from distkb_probes.live._result import finding

_MIB = 1 << 20
_FACTOR = 1.25
_CUDA_MARGIN = 512 * _MIB
_HOST_MARGIN = 2048 * _MIB
"""An outlier has a quarter more than the median, and this much more in bytes."""
_HOST_LOW = 0.03
"""Part of the host's memory below which the kernel is about to kill a process."""
_SHM_LOW = 64 * _MIB


class MemoryCheck(Check):
    """Reads counters only: nothing is allocated, no CUDA context is created."""

    name = "memory"
    ids = (
        "live.memory-outlier",
        "live.same-gpu",
        "live.memory-on-other-gpu",
        "live.host-memory-low",
        "live.shm-full",
    )

    def collect(self) -> Sheet:
        """Read this process's and this host's counters."""
        return Sheet({"host": socket.gethostname(), "rss": _resident(), **_host(), **_cuda()})

    def judge(self, summaries: Mapping[int, Any], details: Mapping[int, Any]) -> Verdict:  # noqa: ARG002
        """Name outliers, shared GPUs, and hosts that run out."""
        found = []
        for kind, margin in (("peak", _CUDA_MARGIN), ("rss", _HOST_MARGIN)):
            found += _outliers(kind, margin, {r: s[kind] for r, s in summaries.items() if s.get(kind) is not None})
        found += _shared_gpus(summaries)
        for rank, summary in summaries.items():
            if summary.get("elsewhere"):
                values = {"device": summary["device"], "other": ", ".join(summary["elsewhere"])}
                found.append(finding("live.memory-on-other-gpu", ranks=[rank], values=values))
        found += _hosts(summaries)
        return found, {"per_rank": {str(rank): summary for rank, summary in summaries.items()}}


def _outliers(kind: str, margin: int, by_rank: Mapping[int, int]) -> list[Any]:
    if len(by_rank) < 2:
        return []
    median = statistics.median_low(by_rank.values())
    odd = [rank for rank, used in by_rank.items() if used > median * _FACTOR and used > median + margin]
    if not odd:
        return []
    evidence = [f"rank {rank}: {by_rank[rank] // _MIB} MiB" for rank in odd[:8]]
    values = {
        "kind": {"peak": "CUDA (peak)", "rss": "RSS"}[kind],
        "median": median // _MIB,
        "value": by_rank[odd[0]] // _MIB,
    }
    return [finding("live.memory-outlier", ranks=odd, evidence=evidence, values=values)]


def _shared_gpus(summaries: Mapping[int, Any]) -> list[Any]:
    users: dict[tuple[str, str], list[int]] = {}
    for rank, summary in summaries.items():
        if summary.get("uuid"):
            users.setdefault((summary["host"], summary["uuid"]), []).append(rank)
    return [
        finding("live.same-gpu", ranks=ranks, values={"host": host, "uuid": uuid})
        for (host, uuid), ranks in users.items()
        if len(ranks) > 1
    ]


def _hosts(summaries: Mapping[int, Any]) -> list[Any]:
    found, seen = [], set()
    for summary in summaries.values():
        host = summary["host"]
        if host in seen:
            continue
        seen.add(host)
        ranks = [rank for rank, other in summaries.items() if other["host"] == host]
        total, left = summary.get("host_total"), summary.get("host_available")
        if total and left is not None and left < total * _HOST_LOW:
            values = {"host": host, "available": left // _MIB, "size": total // _MIB}
            found.append(finding("live.host-memory-low", ranks=ranks, values=values))
        shm, free = summary.get("shm_total"), summary.get("shm_free")
        if shm and free is not None and free < _SHM_LOW:
            values = {"host": host, "available": free // _MIB, "size": shm // _MIB}
            found.append(finding("live.shm-full", ranks=ranks, values=values))
    return found


def _resident() -> int | None:
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def _host() -> dict[str, int]:
    """Return total and available memory of this container or host, and of /dev/shm, in bytes."""
    found = {}
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        table = {name: int(rest.split()[0]) * 1024 for name, _, rest in (line.partition(":") for line in lines)}
        found = {"host_total": table["MemTotal"], "host_available": table["MemAvailable"]}
    except (OSError, ValueError, KeyError, IndexError):
        found = {}
    found.update(_container(found))
    try:
        space = os.statvfs("/dev/shm")  # noqa: S108 - the mount itself is looked at
        found |= {"shm_total": space.f_frsize * space.f_blocks, "shm_free": space.f_frsize * space.f_bavail}
    except (OSError, AttributeError):
        return found
    return found


def _container(host: Mapping[str, int]) -> dict[str, int]:
    """Return the limit of this control group (version 2) and what is left of it, where there is a limit."""
    folder = Path("/sys/fs/cgroup")
    try:
        limit, used = (folder / "memory.max").read_text().strip(), int((folder / "memory.current").read_text())
        cache = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        if limit == "max":
            return {}
        left = int(limit) - used + int(cache["inactive_file"])
    except (OSError, ValueError, KeyError):
        return {}
    return {"host_total": int(limit), "host_available": min(left, host.get("host_available", left))}


def _cuda() -> dict[str, Any]:
    """Return the allocator's counters for the current device, if the job uses CUDA already."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available() or not torch.cuda.is_initialized():
        return {}
    here = torch.cuda.current_device()
    found = {
        "device": f"cuda:{here}",
        "allocated": torch.cuda.memory_allocated(here),
        "reserved": torch.cuda.memory_reserved(here),
        "peak": torch.cuda.max_memory_allocated(here),
        "peak_reserved": torch.cuda.max_memory_reserved(here),
        "uuid": str(getattr(torch.cuda.get_device_properties(here), "uuid", "")),
    }
    others = [index for index in range(torch.cuda.device_count()) if index != here]
    used = {index: torch.cuda.memory_allocated(index) for index in others}
    found["elsewhere"] = [f"cuda:{index} ({size // _MIB} MiB)" for index, size in used.items() if size > _MIB]
    return found
