"""The machine's and the container's limits against what ranks and DataLoader workers need."""

from __future__ import annotations

from typing import Any

from distkb.evidence.observation import Quote
from distkb.probing.env.verdict import EnvVerdict, listed, quote
from distkb.probing.env.view import EnvProcess, View, integer, texts

MIB = 1 << 20
SMALL_SHM = 64 * MIB
"""What a container gets by default: a few batches of images, or NCCL's buffers between a few ranks, fill it."""
LOW_SHM = 32 * MIB
"""Free bytes below which the next segment may not fit."""
FEW_FILES, FEW_PROCESSES = 1024, 2048
MANY_RANKS = 64
RDMA_MEMLOCK = 64 * MIB
"""Locked memory below which RDMA registration of training buffers fails; it is usually unlimited on such machines."""
NEARLY_FULL = 0.92


def judge(view: View, verdict: EnvVerdict) -> None:
    """Judge shared memory, limits, memory and cores."""
    if not view.part("machine"):
        return
    _shared_memory(view, verdict)
    _limits(view, verdict)
    _memory(view, verdict)
    _cores(view, verdict)


def _shared_memory(view: View, verdict: EnvVerdict) -> None:
    shm = view.part("machine", "shm")
    size, free = integer(shm.get("size")), integer(shm.get("free"))
    if size is None or free is None:
        return
    verdict.look("env.shm-small", "env.shm-full")
    evidence = [quote(f"{shm.get('path')}: {_mib(free)} MiB of {_mib(size)} MiB free", str(shm.get("path")))]
    values = {"size": _mib(size), "free": _mib(free), "leftovers": integer(shm.get("leftovers")) or 0}
    if 0 < size <= SMALL_SHM:
        verdict.find("env.shm-small", evidence, values)
    elif free < LOW_SHM:
        verdict.find("env.shm-full", evidence, values)


def _limits(view: View, verdict: EnvVerdict) -> None:
    limits = view.part("machine", "limits")
    world = max((process.number("WORLD_SIZE") or 0 for process in view.everyone), default=0)
    verdict.look("env.open-files-low", "env.processes-low")
    for name, identity, least in (
        ("nofile", "env.open-files-low", FEW_FILES + 1 if world >= MANY_RANKS else FEW_FILES),
        ("nproc", "env.processes-low", FEW_PROCESSES),
    ):
        soft, hard, quotes = _soft(view, limits, name)
        if soft is not None and soft < least and not (name == "nproc" and view.part("host").get("uid") == 0):
            values = {"soft": soft, "hard": "unlimited" if hard is None else hard, "wanted": min(65536, hard or 65536)}
            verdict.find(identity, quotes, values)
    devices = texts(view.part("machine").get("infiniband"))
    if devices:
        verdict.look("env.locked-memory-low")
        soft, hard, quotes = _soft(view, limits, "memlock")
        if soft is not None and soft < RDMA_MEMLOCK:
            verdict.find("env.locked-memory-low", quotes, {"soft": _size(soft), "devices": listed(devices)})
    _pids(view, verdict)


def _soft(view: View, limits: dict[str, Any], name: str) -> tuple[int | None, int | None, list[Quote]]:
    """Return soft and hard limit, None for unlimited or unknown: of the rank that has the least, where one is live."""
    flag = {"nofile": "-n", "nproc": "-u", "memlock": "-l"}[name]
    least: tuple[int, EnvProcess] | None = None
    for process in view.ranks:
        limit = process.details.get("limits")
        soft = integer(limit.get(name)) if isinstance(limit, dict) else None
        if soft is not None and (least is None or soft < least[0]):
            least = (soft, process)
    if view.live:
        if least is None:
            return None, None, []
        return least[0], None, [quote(f"{name}={least[0]}", f"/proc/{least[1].pid}/limits", least[1].rank)]
    pair = limits.get(name)
    if not isinstance(pair, list) or len(pair) != 2:
        return None, None, []
    return integer(pair[0]), integer(pair[1]), [quote(f"ulimit {flag}: {pair[0]}", "limits")]


def _pids(view: View, verdict: EnvVerdict) -> None:
    pids = view.part("machine", "pids")
    limit, used = integer(pids.get("limit")), integer(pids.get("used"))
    if limit is None or used is None:
        return
    verdict.look("env.pids-nearly-full")
    if used > NEARLY_FULL * limit or limit < 256:
        verdict.find(
            "env.pids-nearly-full",
            [quote(f"pids.current={used} pids.max={limit}", "cgroup")],
            {"limit": limit, "used": used},
        )


def _memory(view: View, verdict: EnvVerdict) -> None:
    memory = view.part("machine", "memory")
    limit, used, kills = (integer(memory.get(name)) for name in ("limit", "used", "oom_kills"))
    path = str(memory.get("cgroup") or "cgroup")
    verdict.look("env.oom-kills")
    if kills:
        verdict.find("env.oom-kills", [quote(f"oom_kill {kills}", f"{path}/memory.events")], {"count": kills})
    if limit and used is not None:
        verdict.look("env.memory-nearly-full")
        if used > NEARLY_FULL * limit:
            text = f"memory: {_gib(used)} GiB of {_gib(limit)} GiB"
            verdict.find("env.memory-nearly-full", [quote(text, path)], {"used": _gib(used), "limit": _gib(limit)})


def _cores(view: View, verdict: EnvVerdict) -> None:
    cores = view.part("machine", "cores")
    machine, allowed = integer(cores.get("machine")), integer(cores.get("allowed"))
    if machine is None or allowed is None or view.here is None:
        return
    here = view.here
    # The collector's own affinity is not that of a live rank.
    if view.live:
        allowed = count_cpus(_union(view)) or allowed
    quota = cores.get("quota")
    usable = min(float(allowed), float(quota)) if isinstance(quota, (int, float)) else float(allowed)
    asked = view.requested.get("nproc")
    ranks = here.number("LOCAL_WORLD_SIZE") or (asked if isinstance(asked, int) else None)
    if ranks is None or ranks < 2:
        return
    verdict.look("env.cores-restricted", "env.threads-oversubscribed", "env.threads-unset")
    values = {"cores": f"{usable:g}", "machine": machine, "ranks": ranks, "threads": max(1, int(usable) // ranks)}
    evidence = [quote(f"cpus: {usable:g} of {machine}", "affinity"), *here.quote("LOCAL_WORLD_SIZE")]
    if usable < ranks <= machine:
        verdict.find("env.cores-restricted", [*evidence, *here.quote("SLURM_CPUS_PER_TASK")], values)
    threads = here.number("OMP_NUM_THREADS")
    if threads is not None and threads > 1 and threads * ranks > usable:
        verdict.find(
            "env.threads-oversubscribed", here.quote("OMP_NUM_THREADS", "LOCAL_WORLD_SIZE"), {**values, "set": threads}
        )
    elif "OMP_NUM_THREADS" not in here and here.launched and not here.elastic and usable >= ranks:
        verdict.find("env.threads-unset", evidence, values)


def _union(view: View) -> str:
    return ",".join(str(process.details.get("cpus")) for process in view.ranks if process.details.get("cpus"))


def count_cpus(text: str) -> int:
    """Return how many cores a list such as `0-3,8` names, repeated ones once; parts that are no range do not count."""
    found: set[int] = set()
    for part in text.split(","):
        low, dash, high = part.strip().partition("-")
        first, last = integer(low or None), integer(high or None) if dash else integer(low or None)
        if first is not None and last is not None and 0 <= first <= last < first + (1 << 16):
            found.update(range(first, last + 1))
    return len(found)


def _mib(size: int) -> str:
    return f"{size / MIB:.0f}"


def _size(size: int) -> str:
    return f"{_mib(size)} MiB" if size >= MIB else f"{size / 1024:.0f} KiB"


def _gib(size: int) -> str:
    return f"{size / (1 << 30):.1f}"
