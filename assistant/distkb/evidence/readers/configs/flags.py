"""The command lines that launch training: their names, their flags without a value, and one spelling for each flag."""

from __future__ import annotations

from typing import Final

WRAPPERS: Final = frozenset({"srun", "mpirun", "mpiexec", "clush", "pdsh", "numactl", "nsys", "ssh"})
"""Commands that start another command."""
CARRIERS: Final = frozenset(
    {"uv", "poetry", "pixi", "conda", "mamba", "micromamba", "singularity", "apptainer", "docker", "podman", "enroot",
     "timeout", "nice", "stdbuf", "taskset", "xvfb-run", "wandb", "rye", "hatch", "pdm"}
)  # fmt: skip
"""Commands that carry a launcher somewhere behind arguments of their own."""
LAUNCHERS: Final = {
    "torch.distributed.run": "torchrun",
    "torch.distributed.launch": "torch.distributed.launch",
    "torch.distributed.elastic.run": "torchrun",
    "accelerate.commands.launch": "accelerate",
    "deepspeed": "deepspeed",
    "deepspeed.launcher.runner": "deepspeed",
}
"""Module after `python -m` → launcher."""
_TORCHRUN: Final = frozenset(
    {"standalone", "module", "m", "no_python", "run_path", "use_env", "virtual_local_rank", "help", "h"}
)
BOOLEAN: Final[dict[str, frozenset[str]]] = {
    "torchrun": _TORCHRUN,
    "torch.distributed.launch": _TORCHRUN,
    "accelerate": frozenset(
        {
            "quiet", "q", "cpu", "multi_gpu", "tpu", "ipex", "use_deepspeed", "use_fsdp", "use_parallelism_config",
            "use_megatron_lm", "enable_cpu_affinity", "dynamo_use_fullgraph", "dynamo_use_dynamic",
            "dynamo_use_regional_compilation", "same_network", "module", "m", "no_python", "tpu_cluster",
            "no_tpu_cluster", "tpu_use_sudo", "downcast_bf16", "debug", "fp8_use_autocast_during_eval", "help", "h",
        }
    ),
    "deepspeed": frozenset(
        {
            "module", "no_python", "no_local_rank", "no_ssh", "no_ssh_check", "force_multi", "save_pid",
            "bind_cores_to_rank", "quiet", "q", "help", "h", "elastic_training",
        }
    ),
    "srun": frozenset(
        {
            "exclusive", "kill_on_bad_exit", "K", "l", "label", "u", "unbuffered", "overlap", "exact", "v", "Q",
            "wait0", "no_container_mount_home", "container_writable", "O", "overcommit", "s",
        }
    ),
    "mpirun": frozenset({"allow_run_as_root", "oversubscribe", "tag_output", "verbose", "report_bindings"}),
    "mpiexec": frozenset({"allow_run_as_root", "oversubscribe"}),
    "python": frozenset({"u", "O", "B", "s", "E"}),
}  # fmt: skip
ABBREVIATE: Final = frozenset({"torchrun", "torch.distributed.launch", "deepspeed"})
"""Launchers that take the beginning of a flag for the flag."""
UNDERSCORES: Final = frozenset({"deepspeed"})
"""Launchers whose flags have no second spelling with dashes."""
STARTERS: Final = frozenset({"srun", "mpirun", "mpiexec", "clush", "pdsh", "ssh"})
"""Wrappers that start the command elsewhere, or several times."""
JOINED: Final = frozenset({"ssh", "pdsh", "clush"})
"""Wrappers that give the command to a shell of the other machine as one text."""
_SHORT: Final = {
    "srun": {"N": "nodes", "n": "ntasks", "c": "cpus_per_task", "G": "gpus", "w": "nodelist", "J": "job_name"},
    "mpirun": {"n": "np", "c": "np"},
    "mpiexec": {"n": "np"},
    "deepspeed": {"H": "hostfile", "i": "include", "e": "exclude", "num_accelerators": "num_gpus"},
    "torchrun": {"m": "module", "r": "redirects", "t": "tee"},
    "torch.distributed.launch": {"m": "module"},
    "accelerate": {"m": "module"},
}
LAUNCHER_ONLY: Final = {
    "torchrun": frozenset(
        {"nproc_per_node", "nnodes", "node_rank", "rdzv_backend", "rdzv_endpoint", "rdzv_id", "rdzv_conf", "standalone"}
    ),
    "accelerate": frozenset(
        {
            "num_processes", "num_machines", "machine_rank", "main_process_ip", "main_process_port", "multi_gpu",
            "use_fsdp", "use_deepspeed", "deepspeed_config_file", "fsdp_version", "rdzv_backend",
        }
    ),
    "deepspeed": frozenset({"num_gpus", "num_nodes", "hostfile", "include", "exclude", "launcher"}),
}  # fmt: skip
"""Flags that mean something to the launcher and hardly ever to a script."""


def normal(launcher: str, flag: str) -> str:
    """Return a flag's one spelling: no dashes in front, underscores inside, long instead of short."""
    name = flag.lstrip("-").replace("-", "_")
    return _SHORT.get(launcher, {}).get(name, name)


def flag_of(key: str, launcher: str) -> str:
    """Return the flag of a launcher's option: Accelerate's has underscores, another's dashes."""
    return "--" + (key if launcher == "accelerate" else key.replace("_", "-"))
