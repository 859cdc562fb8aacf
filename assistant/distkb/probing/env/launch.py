"""A live launch as a whole: the same world, the same master, every rank once, the same program and settings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import PurePath

from distkb.evidence.observation import Quote
from distkb.probing.env.network import is_loopback
from distkb.probing.env.verdict import EnvVerdict, listed, quote, word
from distkb.probing.env.view import EnvProcess, View

_HARMLESS = frozenset(
    {
        "NCCL_DEBUG",
        "NCCL_DEBUG_FILE",
        "NCCL_DEBUG_SUBSYS",
        "NCCL_DEBUG_TIMESTAMP_FORMAT",
        "NCCL_DEBUG_TIMESTAMP_LEVELS",
        "NCCL_HOSTID",
        "NCCL_IB_HCA",
        "NCCL_TOPO_DUMP_FILE",
        "NCCL_GRAPH_DUMP_FILE",
        "TORCH_CPP_LOG_LEVEL",
        "TORCH_SHOW_CPP_STACKTRACES",
        "TORCH_LOGS",
        "TORCH_LOGS_OUT",
        "TORCH_FR_DUMP_TEMP_FILE",
        "TORCH_NCCL_DEBUG_INFO_TEMP_FILE",
        "TORCH_NCCL_DEBUG_INFO_PIPE_FILE",
        "TORCHINDUCTOR_CACHE_DIR",
    }
)
"""Variables that ranks may set differently without harm: what is logged, and where."""
_COMPARED = re.compile(
    r"^(?:NCCL_|TORCH_(?!ELASTIC)|TORCHDYNAMO_|TORCHINDUCTOR_|GLOO_|ACCELERATE_|FSDP_|CUDA_DEVICE_ORDER$|USE_LIBUV$"
    r"|PYTHONPATH$|LD_LIBRARY_PATH$|DEEPSPEED_)"
)
_UNSET = "(unset)"
_FILES = {"exe": "exe", "cwd": "cwd", "torch": "maps", "nccl_path": "maps", "script": "cmdline"}
"""Where in /proc/PID something other than a variable was read."""
_DEBUG = "TORCH_DISTRIBUTED_DEBUG"
_FORKED = ("multiprocessing.spawn", "multiprocessing.forkserver", "--multiprocessing-fork")
_STATES = {"T": "env.process-stopped", "t": "env.process-stopped", "Z": "env.process-dead", "X": "env.process-dead"}


def judge(view: View, verdict: EnvVerdict) -> None:
    """Compare the ranks of a live launch with one another."""
    for row in view.rows("unreadable"):
        pid = row.get("pid")
        verdict.find(
            "env.process-unreadable",
            [quote(str(row.get("command") or f"pid {pid}"), f"/proc/{pid}/environ")],
            {"pid": pid, "user": row.get("user") or "?"},
        )
    if not view.live:
        return
    verdict.look("env.process-stopped", "env.process-dead", "env.process-in-file-call")
    if not any(process.details.get("waits_for_file") for process in view.ranks):
        verdict.look("env.process-in-kernel")  # the other one says the same, and more
    _states(view.ranks, verdict)
    ranked = [process for process in view.ranks if process.rank is not None]
    if any(process.lightning for process in view.ranks):
        return  # the first of its processes was started by the user, without any of the variables
    if not ranked:
        _nobody_has_a_rank(view.ranks, verdict)
        return
    verdict.look("env.launch-rank-missing")
    _missing(view, ranked, verdict)
    if len(ranked) > 1:
        _compare(ranked, verdict)


def _states(processes: Iterable[EnvProcess], verdict: EnvVerdict) -> None:
    for process in processes:
        identity = _STATES.get(str(process.details.get("state")))
        if process.details.get("waits_in_kernel"):
            identity = "env.process-in-file-call" if process.details.get("waits_for_file") else "env.process-in-kernel"
        if identity is not None:
            verdict.find(
                identity,
                [quote(_command(process), f"/proc/{process.pid}/stat", process.rank)],
                {"pid": process.pid, "rank": _rank(process)},
            )


def _nobody_has_a_rank(processes: tuple[EnvProcess, ...], verdict: EnvVerdict) -> None:
    """Several processes without RANK; those that Python itself spawned may have set it inside, which /proc hides."""
    own = [process for process in processes if not any(mark in _command(process) for mark in _FORKED)]
    if len(own) > 1:
        verdict.look("env.launch-no-rank")
        verdict.find(
            "env.launch-no-rank",
            [quote(_command(process), f"/proc/{process.pid}/cmdline") for process in own],
            {"count": len(own)},
        )


def _missing(view: View, ranked: list[EnvProcess], verdict: EnvVerdict) -> None:
    counts = Counter(process.rank for process in ranked)
    for rank, count in sorted(counts.items(), key=lambda item: item[0] or 0):
        if count > 1:
            same = [process for process in ranked if process.rank == rank]
            verdict.find(
                "env.launch-rank-duplicate",
                [found for process in same for found in process.quote("RANK")],
                {"rank": rank, "pids": listed(process.pid for process in same)},
            )
    expected = _expected_ranks(ranked)
    missing = sorted(set(expected) - set(counts))
    if missing and not view.rows("unreadable"):
        first = ranked[0]
        verdict.find(
            "env.launch-rank-missing",
            first.quote("WORLD_SIZE", "LOCAL_WORLD_SIZE", "LOCAL_SIZE"),
            {"missing": listed(missing), "present": listed(sorted(rank for rank in counts if rank is not None))},
        )


def _expected_ranks(ranked: list[EnvProcess]) -> Iterable[int]:
    """Return the ranks that must be on this machine."""
    first = ranked[0]
    world, local = first.number("WORLD_SIZE"), first.local_world
    if world is None or world > 1 << 16:
        return ()
    if local is None:
        return range(world) if is_loopback(first.get("MASTER_ADDR") or "") else ()
    if local >= world:
        return range(world)
    # torchrun and deepspeed number the ranks of a node one after the other; RANK - LOCAL_RANK is the node's first.
    bases = {(p.rank or 0) - (p.number("LOCAL_RANK") or 0) for p in ranked if "LOCAL_RANK" in p}
    if len(bases) == 1 and (first.elastic or "CROSS_SIZE" in first):
        base = bases.pop()
        return range(base, min(world, base + local))
    return ()


def _compare(ranked: list[EnvProcess], verdict: EnvVerdict) -> None:
    def value(name: str) -> Callable[[EnvProcess], str | None]:
        return lambda process: process.get(name)

    for identity, name in (
        ("env.launch-world-size-differs", "WORLD_SIZE"),
        ("env.launch-master-differs", "MASTER_ADDR"),
        ("env.launch-master-differs", "MASTER_PORT"),
    ):
        verdict.look(identity)
        _differs(identity, name, ranked, value(name), verdict)
    verdict.look("env.launch-variable-differs", "env.launch-debug-differs")
    names = sorted({name for process in ranked for name in process.environment if _COMPARED.match(name)} - _HARMLESS)
    for name in names:
        if name == _DEBUG:
            _differs("env.launch-debug-differs", name, ranked, _debug_level, verdict)
        else:
            _differs("env.launch-variable-differs", name, ranked, value(name), verdict, absent=_UNSET)
    for identity, what in (
        ("env.launch-python-differs", "exe"),
        ("env.launch-torch-differs", "torch"),
        ("env.launch-nccl-differs", "nccl_path"),
        ("env.launch-directory-differs", "cwd"),
        ("env.launch-script-differs", "script"),
    ):
        verdict.look(identity)
        read = _script if what == "script" else (lambda process, key=what: process.details.get(key))
        _differs(identity, what, ranked, read, verdict)


def _differs(
    identity: str,
    name: str,
    ranked: list[EnvProcess],
    read: Callable[[EnvProcess], object],
    verdict: EnvVerdict,
    absent: str | None = None,
) -> None:
    """Report a difference, the smaller group as the odd one. Unknown values do not count unless `absent` names them."""
    groups: dict[str, list[EnvProcess]] = {}
    for process in ranked:
        text = None if (value := read(process)) is None else str(value)
        if text is None and absent is None:
            continue
        groups.setdefault(absent or "" if text is None else text, []).append(process)
    if len(groups) < 2:
        return
    usual, *odd = sorted(groups.items(), key=lambda item: (-len(item[1]), item[1][0].rank or 0))
    quotes: list[Quote] = []
    for text, processes in (*odd, usual):
        process = processes[0]
        file = _FILES.get(name)
        shown = text if file else process.get(name) or _UNSET
        path = f"/proc/{process.pid}/{file}" if file else process.path
        quotes.append(quote(f"{name}={shown}", path, process.rank))
    odd_ranks = sorted(process.rank or 0 for _, processes in odd for process in processes)
    verdict.find(
        identity,
        quotes,
        {
            "name": name,
            "ranks": listed(odd_ranks),
            "others": listed(sorted(process.rank or 0 for process in usual[1])),
            "value": odd[0][0],
            "usual": usual[0],
            "word": word(usual[0]),
        },
    )


def _debug_level(process: EnvProcess) -> str:
    """Return DETAIL, which adds collectives, or OFF: INFO only prints."""
    return "DETAIL" if (process.get(_DEBUG) or "").strip().upper() == "DETAIL" else "OFF"


def _script(process: EnvProcess) -> str | None:
    """Return the program that a rank runs: the first word that ends in .py, or the module after -m."""
    words = _command(process).split()[1:]
    for before, item in zip(["", *words], words, strict=False):
        if before == "-m" or item.endswith(".py"):
            return PurePath(item).name if item.endswith(".py") else item
    return None


def _command(process: EnvProcess) -> str:
    return str(process.details.get("command") or f"pid {process.pid}")


def _rank(process: EnvProcess) -> str:
    return "?" if process.rank is None else str(process.rank)
