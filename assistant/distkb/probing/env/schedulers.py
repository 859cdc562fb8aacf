"""Variables of Slurm, MPI, Kubernetes and cloud services that make a library believe in another launch than yours.

Who reads them (checked in the libraries' sources): Lightning's SLURMEnvironment takes over where SLURM_NTASKS is set
and SLURM_JOB_NAME is neither `bash` nor `interactive`, unless torchrun's TORCHELASTIC_RUN_ID is there. Accelerate's CPU
path takes a PMI_SIZE, OMPI_COMM_WORLD_SIZE or MV2_COMM_WORLD_SIZE above 1 for a launch of several processes. DeepSpeed
asks Azure ML, SageMaker, else mpi4py, when RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR or MASTER_PORT is missing.
torchrun takes PET_* for options.
"""

from __future__ import annotations

from distkb.probing.env.verdict import EnvVerdict, listed
from distkb.probing.env.view import EnvProcess, View

_SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE")
_CONTRACT = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
_INTERACTIVE = ("bash", "interactive")


def judge(view: View, verdict: EnvVerdict) -> None:
    """Judge what a scheduler left in the environment."""
    here = view.here
    if here is None:
        return
    _slurm(view, here, verdict)
    _mpi(view, here, verdict)
    _cloud(view, here, verdict)
    _options(view, here, verdict)


def _has(view: View, *packages: str) -> bool:
    return any(view.part("versions").get(package) for package in packages)


def _slurm(view: View, here: EnvProcess, verdict: EnvVerdict) -> None:
    tasks = here.number("SLURM_NTASKS")
    if tasks is None:
        return
    deepspeed = "CROSS_SIZE" in here
    if here.elastic:
        verdict.look("env.torchrun-per-task")
        per_step, nodes = here.number("SLURM_STEP_NUM_TASKS"), here.number("SLURM_STEP_NUM_NODES")
        groups = here.number("GROUP_WORLD_SIZE")
        shell = "SLURM_PTY_PORT" in here  # of the tasks of an interactive shell only the first runs on
        if per_step is not None and nodes and per_step > nodes and groups != per_step and not shell:
            verdict.find(
                "env.torchrun-per-task",
                here.quote("SLURM_STEP_NUM_TASKS", "SLURM_STEP_NUM_NODES", "TORCHELASTIC_RUN_ID"),
                {"tasks": per_step, "nodes": nodes},
            )
        return
    if "RANK" in here and "SLURM_PROCID" in here and not deepspeed:
        _slurm_ranks(here, verdict)
    pseudo_terminal = "SLURM_PTY_PORT" in here
    if _has(view, "lightning") and pseudo_terminal and here.get("SLURM_JOB_NAME") not in _INTERACTIVE:
        verdict.find(
            "env.slurm-shell-lightning",
            here.quote("SLURM_NTASKS", "SLURM_JOB_NAME", "SLURM_PTY_PORT"),
            {"job": here.get("SLURM_JOB_NAME") or "?", "tasks": tasks},
        )


def _slurm_ranks(here: EnvProcess, verdict: EnvVerdict) -> None:
    """Compare a contract made from Slurm's variables with them."""
    verdict.look("env.slurm-world-differs", "env.slurm-rank-differs")
    world, tasks = here.number("WORLD_SIZE"), here.number("SLURM_STEP_NUM_TASKS")
    if world is not None and tasks is not None and world != tasks:
        verdict.find(
            "env.slurm-world-differs",
            here.quote("WORLD_SIZE", "SLURM_STEP_NUM_TASKS"),
            {"world_size": world, "tasks": tasks},
        )
    elif here.rank is not None and tasks is not None and here.rank != here.number("SLURM_PROCID"):
        verdict.find(
            "env.slurm-rank-differs",
            here.quote("RANK", "SLURM_PROCID"),
            {"rank": here.rank, "procid": here.get("SLURM_PROCID") or "?"},
        )


def _mpi(view: View, here: EnvProcess, verdict: EnvVerdict) -> None:
    names = [name for name in _SIZES if (here.number(name) or 0) > 1]
    if not names:
        return
    size = here.number(names[0])
    world = here.number("WORLD_SIZE")
    quotes = here.quote(*names, "WORLD_SIZE")
    if world is not None and not view.live:
        verdict.look("env.mpi-world-differs")
        if world != size and not here.elastic:
            verdict.find("env.mpi-world-differs", quotes, {"name": names[0], "size": size or "?", "world_size": world})
    elif world is None and "SLURM_PTY_PORT" in here and _has(view, "accelerate", "deepspeed", "mpi4py"):
        verdict.find(
            "env.mpi-leftover",
            quotes,
            {"names": " ".join(_mpi_names(here)), "name": names[0], "size": size or "?"},
        )


def _mpi_names(here: EnvProcess) -> list[str]:
    return [
        n
        for n in here.environment
        if n.isidentifier() and n.startswith(("PMI_", "PMIX_", "OMPI_COMM_WORLD_", "MV2_COMM_WORLD_"))
    ]


def _cloud(view: View, here: EnvProcess, verdict: EnvVerdict) -> None:
    """DeepSpeed's ways out where the contract is not complete."""
    missing = [name for name in _CONTRACT if name not in here]
    if not missing or not here.launched or not _has(view, "deepspeed"):
        return
    for name, wanted in (
        ("AZUREML_EXPERIMENT_ID", "OMPI_COMM_WORLD_RANK"),
        ("SM_TRAINING_ENV", "OMPI_COMM_WORLD_RANK"),
    ):
        if name in here and wanted not in here and "DLTS_JOB_ID" not in here:
            verdict.find(
                "env.deepspeed-cloud", here.quote(name), {"name": name, "missing": listed(missing), "wanted": wanted}
            )


def _options(view: View, here: EnvProcess, verdict: EnvVerdict) -> None:
    """Options of torchrun from the environment, which Kubeflow sets on purpose and a shell keeps by accident."""
    names = sorted(name for name in here.environment if name.startswith("PET_") and name.isidentifier())
    if names and view.part("host").get("container") != "kubernetes" and not here.elastic:
        verdict.find("env.torchrun-options", here.quote(*names), {"names": " ".join(names)})
