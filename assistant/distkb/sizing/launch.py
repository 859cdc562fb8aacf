"""The files and the command to start the chosen strategy with, as the real launchers accept them."""

from __future__ import annotations

import json
from typing import Any

from distkb.sizing.advise import Advice

PORT = 29500
FIRST_NODE = "FIRST_NODE"
"""Stands where the name or address of the first node goes, which only the user knows."""
CORES_A_GPU = 8
"""Cores that a Slurm job asks for beside each GPU: data loading and the launcher."""

STAGES = {
    "ddp": 0,
    "zero1": 1,
    "zero2": 2,
    "zero3": 3,
    "shard_grad_op": 2,
    "hybrid_shard": 3,
    "full_shard": 3,
    "fsdp2_no_reshard": 2,
    "fsdp2_hybrid": 3,
    "fsdp2": 3,
    "zero2_offload": 2,
    "zero3_offload": 3,
    "fsdp2_offload": 3,
}
"""The ZeRO stage that keeps about as much on a rank as a strategy does."""


def command(advice: Advice) -> str:
    """Return the torchrun line for one node, or for several with a word in the place of the first one's name."""
    run = advice.run
    ranks = min(run.gpus, run.per_node)
    if run.nodes == 1:
        return f"torchrun --standalone --nproc-per-node {ranks} train.py"
    return (
        f"torchrun --nnodes {run.nodes} --nproc-per-node {ranks} --rdzv-id run1 --rdzv-backend c10d "
        f"--rdzv-endpoint {FIRST_NODE}:{PORT} train.py"
    )


def files(advice: Advice) -> dict[str, str]:
    """Return the text of each file by its name; empty where no strategy fits."""
    if advice.chosen is None:
        return {}
    out = {
        "accelerate.yaml": _yaml(accelerate(advice)),
        "ds_config.json": json.dumps(deepspeed(advice), indent=2) + "\n",
    }
    out["train.sbatch"] = sbatch(advice)
    return out


def accelerate(advice: Advice) -> dict[str, Any]:
    """Return the configuration for `accelerate launch --config_file`."""
    run, name = advice.run, _name(advice)
    out: dict[str, Any] = {
        "compute_environment": "LOCAL_MACHINE",
        "distributed_type": "MULTI_GPU" if run.gpus > 1 else "NO",
        "mixed_precision": {"bf16": "bf16", "fp16": "fp16"}.get(run.precision, "no"),
        "num_machines": run.nodes,
        "num_processes": run.gpus,
        "machine_rank": 0,
        "use_cpu": False,
    }
    if run.nodes > 1:
        out |= {
            "main_process_ip": FIRST_NODE,
            "main_process_port": PORT,
            "rdzv_backend": "static",
            "same_network": True,
        }
    if _uses_fsdp(advice):
        out |= {"distributed_type": "FSDP", "fsdp_config": _fsdp(name, checkpointing=advice.checkpointing)}
        if name in ("fsdp2_hybrid", "hybrid_shard"):
            out["parallelism_config"] = {
                "parallelism_config_dp_replicate_size": run.nodes,
                "parallelism_config_dp_shard_size": run.per_node,
            }
    if _uses_deepspeed(advice):
        # DeepSpeed's own file says everything: accelerate refuses the same setting in both places.
        out.pop("mixed_precision")
        out |= {
            "distributed_type": "DEEPSPEED",
            "deepspeed_config": {"deepspeed_config_file": "ds_config.json", "zero3_init_flag": False},
        }
    return out


def _fsdp(name: str, *, checkpointing: bool) -> dict[str, Any]:
    return {
        "fsdp_version": 2,
        "fsdp_reshard_after_forward": name not in ("fsdp2_no_reshard", "shard_grad_op"),
        "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
        "fsdp_activation_checkpointing": checkpointing,
        "fsdp_cpu_ram_efficient_loading": True,
        "fsdp_offload_params": name == "fsdp2_offload",
        "fsdp_state_dict_type": "SHARDED_STATE_DICT",
    }


def deepspeed(advice: Advice) -> dict[str, Any]:
    """Return the configuration for `deepspeed.initialize` that comes nearest to the strategy."""
    run, name = advice.run, _name(advice)
    stage = STAGES[name]
    zero: dict[str, Any] = {"stage": stage}
    if stage >= 2:
        zero |= {"overlap_comm": True, "contiguous_gradients": True}
    if stage == 3:
        zero["stage3_gather_16bit_weights_on_model_save"] = True
    if name.endswith("_offload"):
        zero["offload_optimizer"] = {"device": "cpu", "pin_memory": True}
    if name == "fsdp2_offload":
        zero["offload_param"] = {"device": "cpu", "pin_memory": True}
    out: dict[str, Any] = {
        "train_micro_batch_size_per_gpu": run.batch,
        "gradient_accumulation_steps": 1,
        "gradient_clipping": 1.0,
        "zero_optimization": zero,
    }
    if run.precision in ("bf16", "pure-bf16"):
        out["bf16"] = {"enabled": True}
    elif run.precision == "fp16":
        out["fp16"] = {"enabled": True}
    return out


def sbatch(advice: Advice) -> str:
    """Return a Slurm batch script: one torchrun on each node, which starts a process for each GPU."""
    run = advice.run
    ranks = min(run.gpus, run.per_node)
    return f"""#!/bin/bash
#SBATCH --job-name=train
#SBATCH --nodes={run.nodes}
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node={ranks}
#SBATCH --cpus-per-task={ranks * CORES_A_GPU}
#SBATCH --output=%x-%j.out

set -euo pipefail
export OMP_NUM_THREADS={CORES_A_GPU}
head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)

srun --cpus-per-task="$SLURM_CPUS_PER_TASK" torchrun \\
  --nnodes="$SLURM_NNODES" \\
  --nproc-per-node={ranks} \\
  --rdzv-id="$SLURM_JOB_ID" \\
  --rdzv-backend=c10d \\
  --rdzv-endpoint="$head:{PORT}" \\
  --log-dir="logs/$SLURM_JOB_ID" --redirects=3 --tee=3 \\
  train.py
"""


def _name(advice: Advice) -> str:
    return advice.chosen.name if advice.chosen is not None else "fsdp2"


def _uses_fsdp(advice: Advice) -> bool:
    """FSDP1's strategies are started as the same ones of FSDP2, which has replaced it."""
    return not _uses_deepspeed(advice) and _name(advice) != "ddp"


def _uses_deepspeed(advice: Advice) -> bool:
    return _name(advice).startswith("zero")


def _yaml(document: dict[str, Any], indent: str = "") -> str:
    """Return a mapping of plain words, numbers and mappings as YAML; its values need no quotes."""
    lines = []
    for key, value in document.items():
        if isinstance(value, dict):
            lines.append(f"{indent}{key}:\n{_yaml(value, indent + '  ')}")
        else:
            text = (
                json.dumps(value)
                if isinstance(value, bool)
                else f"'{value}'"
                if str(value).lower() == "no"
                else str(value)
            )
            lines.append(f"{indent}{key}: {text}\n")
    return "".join(lines)
