"""How a program is started: the commands, and the environment that no leftover variable of a job changes."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from distkb.repro.nodes import Node
from distkb.repro.program import NETWORK, Program

PROGRAM = "{program}"
"""Stands for the copied program; see `distkb_probes.repro`."""
NODES_PORT = 29400
_START_S = 60.0
QUIET_S = 2.0
"""Seconds without output after which the ranks' stacks are taken."""
STACKS, RECORDER = "stacks", "flight-recorder"
_FOREIGN = (
    "ACCELERATE_", "CUDA_", "DEEPSPEED_", "DS_", "FI_", "FSDP_", "GLOO_", "GROUP_", "LOCAL_", "MASTER_", "MPI_",
    "NCCL_", "NVIDIA_", "OMP_", "OMPI_", "PMI_", "PMIX_", "ROLE_", "SLURM_", "TORCH", "UCX_", "WANDB_",
)  # fmt: skip
"""Beginnings of names that launchers and users set for their jobs: a reproduction must not depend on them."""
_FOREIGN_NAMES = frozenset({"RANK", "WORLD_SIZE", "NODE_RANK", "PYTHONDEVMODE", "PYTHONFAULTHANDLER"})


def environment(
    program: Program, artifacts: Path, torch: str, environ: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the environment of a run: the user's without what belongs to a job, on the CPU, and recording.

    `torch` is its version. The flight recorder's dumps go to the folder of the artifacts: torch reads
    TORCH_FR_BUFFER_SIZE and TORCH_FR_DUMP_TEMP_FILE since 2.8 (FlightRecorder.hpp), and calls the older names
    deprecated. What a program needs set otherwise is in its entry.
    """
    given = os.environ if environ is None else environ
    kept = {name: value for name, value in given.items() if not _is_foreign(name)}
    names = ("TORCH_FR_BUFFER_SIZE", "TORCH_FR_DUMP_TEMP_FILE")
    if _older(torch, (2, 8)):
        names = ("TORCH_NCCL_TRACE_BUFFER_SIZE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE")
    recorder = dict(zip(names, ("2000", str(artifacts / RECORDER / "rank_")), strict=True))
    ours = {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
    ours |= {"TORCH_NCCL_DUMP_ON_TIMEOUT": "1"}
    return {**kept, **recorder, **ours, **program.spec.env}


def _older(version: str, than: tuple[int, int]) -> bool:
    found = re.match(r"(\d+)\.(\d+)", version)
    return found is not None and (int(found[1]), int(found[2])) < than


def _is_foreign(name: str) -> bool:
    return name in _FOREIGN_NAMES or name.startswith(_FOREIGN)


def command(program: Program, python: Path, *, fixed: bool) -> list[str]:
    """Return the command as a user would type it, for saying what will run."""
    script = [str(program.script), *program.arguments, *(["--fixed"] if fixed else [])]
    spec = program.spec
    if spec.launch == "python":
        return [str(python), *script]
    torchrun = [str(python), "-m", "torch.distributed.run"]
    if spec.launch == "nodes":
        return [*torchrun, f"--nnodes={spec.nodes}", "--node-rank=I", f"--nproc-per-node={spec.nproc}", *script]
    return [*torchrun, "--standalone", f"--nproc-per-node={spec.nproc}", *script]


def request(program: Program, python: Path, artifacts: Path, nodes: Sequence[Node], *, fixed: bool) -> dict[str, Any]:
    """Return what `distkb_probes.repro` is asked to do."""
    script = [PROGRAM, *program.arguments, *(["--fixed"] if fixed else [])]
    spec = program.spec
    prepare: list[list[str]] = []
    launches: list[dict[str, Any]] = []
    if spec.launch == "nodes":
        state = "fixed" if fixed else "broken"
        for node in nodes:
            home = artifacts / node.name
            meet = [f"--nnodes={spec.nodes}", f"--node-rank={node.index}"]
            meet += [f"--master-addr={nodes[0].address}", f"--master-port={NODES_PORT}"]
            argv = [*_torchrun(python, meet, spec.nproc, home), *script]
            launches.append({"home": str(home), "argv": node.command(argv)})
            if (network := program.directory / NETWORK).exists():
                prepare.append(node.command(["sh", str(network), str(node.index), state]))
    elif spec.launch == "python":
        launches.append({"home": str(artifacts), "argv": [str(python), *script]})
    else:
        argv = [*_torchrun(python, ["--standalone"], spec.nproc, artifacts), *script]
        launches.append({"home": str(artifacts), "argv": argv})
    beside = Path(sys.executable).parent / "py-spy"
    return {
        "program": str(program.script),
        "prepare": prepare,
        "launches": launches,
        "limit_s": limit(program),
        "quiet_s": 0.0 if fixed else QUIET_S,
        "stacks": str(artifacts / STACKS),
        "tools": [tool for tool in (str(beside), shutil.which("py-spy")) if tool],
    }


def limit(program: Program) -> float:
    """Return after how many seconds a run is ended: twice what it may take on two idle cores, and a slow start.

    Programs end by themselves, so that this costs nothing; on a loaded machine importing torch alone takes a minute.
    """
    return 2 * program.spec.seconds + _START_S


def _torchrun(python: Path, meet: Sequence[str], nproc: int, home: Path) -> list[str]:
    """Return the launch that keeps every rank's output in a file of its own and on the console as well."""
    kept = [f"--log-dir={home / 'ranks'}", "--redirects=3", "--tee=3"]
    return [str(python), "-m", "torch.distributed.run", *meet, f"--nproc-per-node={nproc}", *kept]
