"""What the all_reduce smoke test is asked to do: the request, the limits of each stage, the place in an allocation."""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

DEADLINE_S, NODES_DEADLINE_S = 60.0, 120.0
_LEAST_BYTES = 4
_CPU_BUDGET_S, _GPU_BUDGET_S = 1.5, 8.0
_SHARES = {
    "launch": 0.4,
    "store": 0.2,
    "rendezvous": 0.4,
    "communicator": 0.25,
    "first-collective": 0.2,
    "correctness": 0.2,
    "bandwidth": 0.25,
    "done": 0.1,
}
"""The part of the deadline for which a stage may stand still. Imports on a slow disk make the launch long."""
_SHARES_OF_NODES = {**_SHARES, "launch": 0.6, "rendezvous": 0.5}
"""The same where other nodes, started by other hands, have to come first."""
TEARDOWN_S = 2.0
"""Seconds before the deadline at which the verdict is taken."""


@dataclass(frozen=True)
class Plan:
    """One smoke test. `backend` None leaves the choice to the ranks: nccl where they see a GPU, else gloo."""

    nproc: int
    nnodes: int
    backend: str | None
    endpoint: str | None
    run: str
    inside: bool
    deadline_s: float
    min_bytes: int
    max_bytes: int | None
    budget_s: float
    gpus: int
    logs: str | None = None
    """Where to keep what the ranks printed."""

    @property
    def several(self) -> bool:
        """Whether ranks run that this probe did not start."""
        return self.inside or self.nnodes > 1

    def share_s(self, stage: str) -> float:
        """Return for how many seconds a stage may stand still."""
        return self.deadline_s * (_SHARES_OF_NODES if self.several else _SHARES)[stage]

    def settings(self) -> dict[str, Any]:
        """Return what the ranks need to know."""
        return {
            "backend": self.backend,
            "run": self.run,
            "inside": self.inside,
            "min_bytes": self.min_bytes,
            "max_bytes": self.max_bytes,
            "budget_s": self.budget_s,
            # Less than the share: the error of a connection that fails says more than that nothing moved.
            "store_s": 0.6 * self.share_s("store"),
            "group_s": self.deadline_s,
        }


def plan(request: Mapping[str, Any], environ: Mapping[str, str], gpus: int) -> Plan:
    """Return the plan of a request, on a machine with so many visible GPUs. Raises ValueError for a wrong request."""
    nnodes = int(request.get("nnodes") or 1)
    inside = bool(request.get("inside", False)) or (
        request.get("inside") is None and not request.get("nproc") and nnodes == 1 and is_inside(environ)
    )
    endpoint = request.get("rdzv_endpoint")
    if nnodes > 1 and not endpoint and not inside:
        raise ValueError("rdzv_endpoint")
    deadline = float(request.get("deadline_s") or (NODES_DEADLINE_S if inside or nnodes > 1 else DEADLINE_S))
    budget = _GPU_BUDGET_S if gpus else _CPU_BUDGET_S
    return Plan(
        nproc=int(request.get("nproc") or gpus or 2),
        nnodes=nnodes,
        backend=request.get("backend"),
        endpoint=endpoint,
        run=str(request.get("rdzv_id") or "distkb-allreduce"),
        inside=inside,
        deadline_s=deadline,
        min_bytes=max(_LEAST_BYTES, int(request.get("min_bytes") or _LEAST_BYTES)),
        max_bytes=request.get("max_bytes"),
        budget_s=min(budget, deadline / 8),
        gpus=gpus,
        logs=request.get("logs"),
    )


def is_inside(environ: Mapping[str, str]) -> bool:
    """Whether a launcher has started this process as one rank of several: torchrun, or srun with several tasks."""
    if {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"} <= environ.keys():
        return True
    return "SLURM_PROCID" in environ and "SLURM_STEP_ID" in environ and _tasks(environ) > 1


def rank_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of this rank: the launcher's own, else those that Slurm's amount to.

    Without a MASTER_PORT in a Slurm job the port follows from the job's number, so that all ranks arrive at the same
    one. Raises KeyError where neither a launcher nor Slurm has said who this is.
    """
    if "RANK" in environ:
        return {name: environ[name] for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")}
    job = int(environ.get("SLURM_JOB_ID") or 0)
    nodes = environ.get("SLURM_STEP_NODELIST") or environ["SLURM_JOB_NODELIST"]
    return {
        "RANK": environ["SLURM_PROCID"],
        "WORLD_SIZE": str(_tasks(environ)),
        "LOCAL_RANK": environ.get("SLURM_LOCALID", "0"),
        "MASTER_ADDR": environ.get("MASTER_ADDR") or first_host(nodes),
        "MASTER_PORT": environ.get("MASTER_PORT") or str(20000 + job % 10000),
    }


def _tasks(environ: Mapping[str, str]) -> int:
    return int(environ.get("SLURM_STEP_NUM_TASKS") or environ.get("SLURM_NTASKS") or 1)


def first_host(nodes: str) -> str:
    """Return the first host of a Slurm node list: `gpu[03-05,9],big1` → `gpu03`."""
    found = re.match(r"([^\[,]*)(?:\[([^\],-]+)[^\]]*\])?([^\[,]*)", nodes)
    return "" if found is None else f"{found[1]}{found[2] or ''}{found[3]}"


def visible_gpus() -> int:
    """Return how many GPUs torch sees here. Torch is imported only where the machine has something like a GPU."""
    if sys.platform.startswith("linux") and not glob.glob("/dev/nvidia[0-9]*") and not os.path.exists("/dev/kfd"):  # noqa: PTH110, PTH207
        return 0
    try:
        import torch
    except Exception:  # noqa: BLE001 - a torch that cannot be imported is for the ranks to report
        return 0
    return int(torch.cuda.device_count()) if torch.cuda.is_available() else 0
