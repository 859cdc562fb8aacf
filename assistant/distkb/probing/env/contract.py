"""The contract between launcher and process: RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT.

`init_process_group` with `env://` reads RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, takes an empty value for an
unset one and passes numbers through int() (torch/distributed/rendezvous.py). Accelerate takes a process without
LOCAL_RANK for a single one; DeepSpeed asks MPI when one of five, LOCAL_RANK among them, is missing.
"""

from __future__ import annotations

import re

from distkb.probing.env.verdict import EnvVerdict, listed
from distkb.probing.env.view import EnvProcess, View

REQUIRED = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
NUMBERS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_PORT")
_ALL = (*REQUIRED, "LOCAL_RANK", "LOCAL_WORLD_SIZE")
_PLACEHOLDER = re.compile(
    r"^(?:<.*>|\$.*|\{\{.*\}\}|\{\w+\}|%\w+%|x+|xx?x?(?:\.xx?x?){3}|your[-_ ].*|.*change[-_]?me.*|todo|tbd|n/a|\.\.\.|…"
    r"|(?:ip|host|master|head|node0?)[-_](?:ip|addr|address|name)|(?:ip|addr|address|hostname|none|null|undefined))$",
    re.IGNORECASE,
)
"""Values that stand in documentation, or that a shell did not expand."""

_IDS = (
    "env.contract-partial",
    "env.contract-empty",
    "env.contract-placeholder",
    "env.contract-not-integer",
    "env.rank-out-of-range",
    "env.local-rank-out-of-range",
    "env.local-world-larger",
    "env.local-rank-missing",
    "env.master-port-service-link",
)


def judge(view: View, verdict: EnvVerdict) -> None:
    """Judge the contract of each process by itself."""
    for process in view.everyone:
        if process.lightning:
            _ranges(process, verdict)
        elif process.launched:
            verdict.look(*_IDS)
            _presence(process, verdict, in_pod=not view.live and view.part("host").get("container") == "kubernetes")
            _ranges(process, verdict)
        elif not view.live:
            verdict.look("env.rank-unset")
            _waiting_world(process, verdict)
        _values(process, verdict)


def is_placeholder(value: str) -> bool:
    """Say whether a value was copied from documentation, or was never expanded."""
    return _PLACEHOLDER.match(value.strip()) is not None


def _presence(process: EnvProcess, verdict: EnvVerdict, *, in_pod: bool) -> None:
    """Report what is missing. An operator gives each pod a RANK and leaves LOCAL_RANK to the torchrun inside."""
    missing = [name for name in REQUIRED if name not in process]
    present = [name for name in _ALL if process.get(name)]
    if missing:
        verdict.find(
            "env.contract-partial",
            process.quote(*present),
            {"missing": listed(missing), "present": listed(present), "names": " ".join(present)},
        )
    elif "LOCAL_RANK" not in process and not in_pod:
        verdict.find(
            "env.local-rank-missing",
            process.quote("RANK", "WORLD_SIZE"),
            {"source": _local_rank_source(process)},
        )


def _local_rank_source(process: EnvProcess) -> str:
    for name in ("SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK"):
        if name in process:
            return f"${name}"
    return "$((RANK % 8))" if (process.number("WORLD_SIZE") or 0) > 8 else "$RANK"


def _waiting_world(process: EnvProcess, verdict: EnvVerdict) -> None:
    """A world of several without a RANK: whoever reads it alone waits for the others, unless a launcher follows."""
    world = process.number("WORLD_SIZE")
    if world is not None and world > 1:
        verdict.find("env.rank-unset", process.quote("WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"), {"world_size": world})


def _values(process: EnvProcess, verdict: EnvVerdict) -> None:
    for name in _ALL:
        value = process.get(name)
        if value is None:
            continue
        values = {"name": name, "value": value}
        if not value.strip():
            verdict.find("env.contract-empty", process.quote(name), {"name": name})
        elif is_placeholder(value):
            verdict.find("env.contract-placeholder", process.quote(name), values)
        elif name in NUMBERS and process.number(name) is None:
            linked = name == "MASTER_PORT" and value.startswith(("tcp://", "udp://"))
            verdict.find(
                "env.master-port-service-link" if linked else "env.contract-not-integer", process.quote(name), values
            )


def _ranges(process: EnvProcess, verdict: EnvVerdict) -> None:
    rank, world = process.number("RANK"), process.number("WORLD_SIZE")
    local, locals_ = process.number("LOCAL_RANK"), process.number("LOCAL_WORLD_SIZE")
    if rank is not None and world is not None and not 0 <= rank < world:
        verdict.find(
            "env.rank-out-of-range",
            process.quote("RANK", "WORLD_SIZE"),
            {"rank": rank, "world_size": world, "last": max(0, world - 1)},
        )
    # Accelerate and Lightning take LOCAL_RANK=-1 for "not distributed".
    if local is not None and local != -1 and (local < 0 or (locals_ is not None and local >= locals_)):
        verdict.find(
            "env.local-rank-out-of-range",
            process.quote("LOCAL_RANK", "LOCAL_WORLD_SIZE"),
            {"local_rank": local, "local_world_size": "?" if locals_ is None else locals_},
        )
    if locals_ is not None and world is not None and locals_ > world:
        verdict.find(
            "env.local-world-larger",
            process.quote("LOCAL_WORLD_SIZE", "WORLD_SIZE"),
            {"local_world_size": locals_, "world_size": world},
        )
