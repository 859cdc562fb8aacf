"""Files that work draw no finding above a note: false alarms would teach people to look away."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import built_in
import pytest

from distkb.catalogue.model import Catalogue
from distkb.evidence.readers.configs import read_configs

FSDP1 = {
    "fsdp_version": 1,
    "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
    "fsdp_backward_prefetch": "BACKWARD_PRE",
    "fsdp_cpu_ram_efficient_loading": True,
    "fsdp_forward_prefetch": False,
    "fsdp_offload_params": False,
    "fsdp_reshard_after_forward": "FULL_SHARD",
    "fsdp_state_dict_type": "SHARDED_STATE_DICT",
    "fsdp_sync_module_states": True,
    "fsdp_use_orig_params": True,
    "fsdp_activation_checkpointing": False,
}
FSDP2 = {
    "fsdp_version": 2,
    "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
    "fsdp_transformer_layer_cls_to_wrap": "LlamaDecoderLayer",
    "fsdp_cpu_ram_efficient_loading": True,
    "fsdp_offload_params": False,
    "fsdp_reshard_after_forward": True,
    "fsdp_state_dict_type": "SHARDED_STATE_DICT",
    "fsdp_activation_checkpointing": False,
}
ZERO3 = {
    "gradient_accumulation_steps": 1,
    "gradient_clipping": 1.0,
    "offload_optimizer_device": "none",
    "offload_param_device": "none",
    "zero3_init_flag": True,
    "zero3_save_16bit_model": True,
    "zero_stage": 3,
}
ZERO2 = ZERO3 | {"zero_stage": 2, "zero3_init_flag": False, "zero3_save_16bit_model": False}
ANSWERS: dict[str, dict[str, Any]] = {
    "one process": {"distributed_type": "NO", "num_processes": 1, "gpu_ids": "all"},
    "several GPUs": {"distributed_type": "MULTI_GPU", "num_processes": 8, "gpu_ids": "all", "mixed_precision": "no"},
    "chosen GPUs": {"distributed_type": "MULTI_GPU", "num_processes": 2, "gpu_ids": "1,3", "mixed_precision": "fp16"},
    "two machines": {
        "distributed_type": "MULTI_GPU",
        "num_processes": 16,
        "num_machines": 2,
        "machine_rank": 1,
        "main_process_ip": "10.0.0.1",
        "main_process_port": 29500,
        "same_network": True,
    },
    "FSDP1": {"distributed_type": "FSDP", "num_processes": 8, "fsdp_config": FSDP1, "mixed_precision": "bf16"},
    "FSDP2": {"distributed_type": "FSDP", "num_processes": 8, "fsdp_config": FSDP2, "mixed_precision": "bf16"},
    "FSDP2 on a mesh": {
        "distributed_type": "FSDP",
        "num_processes": 8,
        "fsdp_config": FSDP2,
        "parallelism_config": {
            "parallelism_config_dp_replicate_size": 2,
            "parallelism_config_dp_shard_size": 2,
            "parallelism_config_tp_size": 2,
            "parallelism_config_cp_size": 1,
        },
    },
    "ZeRO-2": {
        "distributed_type": "DEEPSPEED",
        "num_processes": 8,
        "deepspeed_config": ZERO2,
        "mixed_precision": "bf16",
    },
    "ZeRO-3": {
        "distributed_type": "DEEPSPEED",
        "num_processes": 8,
        "deepspeed_config": ZERO3,
        "mixed_precision": "bf16",
    },
    "DeepSpeed file": {
        "distributed_type": "DEEPSPEED",
        "num_processes": 8,
        "deepspeed_config": {"deepspeed_config_file": "ds.json", "zero3_init_flag": True},
    },
    "CPU": {"distributed_type": "MULTI_CPU", "num_processes": 4, "use_cpu": True, "mixed_precision": "no"},
}
"""What one answers to the questions of `accelerate config`."""

AUTO = """{
    "fp16": {"enabled": "auto", "loss_scale": 0, "initial_scale_power": 16},
    "bf16": {"enabled": "auto"},
    "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto", "eps": "auto", "weight_decay": "auto"}},
    "scheduler": {"type": "WarmupDecayLR", "params": {"total_num_steps": "auto", "warmup_min_lr": "auto",
                  "warmup_max_lr": "auto", "warmup_num_steps": "auto"}},
    "zero_optimization": {"stage": 3, "overlap_comm": true, "reduce_bucket_size": "auto", "sub_group_size": 1e9,
                          "offload_optimizer": {"device": "cpu", "pin_memory": true},
                          "stage3_prefetch_bucket_size": "auto", "stage3_param_persistence_threshold": "auto",
                          "stage3_gather_16bit_weights_on_model_save": true},
    "gradient_accumulation_steps": "auto", "gradient_clipping": "auto", "steps_per_print": 2000,
    "train_batch_size": "auto", "train_micro_batch_size_per_gpu": "auto", "wall_clock_breakdown": false
}"""
RAW = """{
  "train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2,
  "steps_per_print": 10, "prescale_gradients": false, "gradient_clipping": 1.0,
  "optimizer": {"type": "Adam", "params": {"lr": 0.001, "betas": [0.8, 0.999], "eps": 1e-8, "weight_decay": 3e-7}},
  "scheduler": {"type": "WarmupLR", "params": {"warmup_min_lr": 0, "warmup_max_lr": 0.001, "warmup_num_steps": 1000}},
  "bf16": {"enabled": true}, "data_types": {"grad_accum_dtype": "fp32"},
  "activation_checkpointing": {"partition_activations": true, "cpu_checkpointing": false},
  "zero_optimization": {"stage": 2, "allgather_partitions": true, "overlap_comm": true, "contiguous_gradients": true}
}"""
SLURM = """#!/bin/bash
#SBATCH --job-name=train
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=64
head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export MASTER_ADDR=$head
# srun torchrun --nproc-per-node=1 old.py
srun torchrun \\
    --nnodes=$SLURM_NNODES \\
    --nproc-per-node=8 \\
    --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=$head:29500 \\
    train.py --config_file train.yaml
"""
PER_NODE = """#!/bin/bash
#SBATCH -N 2
#SBATCH --gres=gpu:a100:4
#SBATCH --ntasks-per-node=1
export MASTER_ADDR=$(hostname)
srun --jobid $SLURM_JOB_ID bash -c 'python -m torch.distributed.run --nproc_per_node 4 --nnodes $SLURM_NNODES \\
 --node_rank $SLURM_PROCID --master_addr $MASTER_ADDR --master_port 6000 train.py'
srun --ntasks=2 --ntasks-per-node=1 bash -c "torchrun --nproc_per_node=4 --nnodes=2 \\
 --node_rank=\\$SLURM_NODEID --master_addr=$MASTER_ADDR train.py"
"""
SOUND: dict[str, dict[str, str]] = {
    "DeepSpeed for the Trainer": {
        "ds.json": AUTO,
        "t.py": "from transformers import TrainingArguments\n"
        "a = TrainingArguments('out', per_device_train_batch_size=4, bf16=True, deepspeed='ds.json')\n",
        "run.sh": "deepspeed --num_gpus=8 t.py --deepspeed ds.json\n",
    },
    "DeepSpeed by itself": {"ds.json": RAW, "run.sh": "deepspeed --num_gpus 8 train.py --deepspeed_config ds.json\n"},
    "DeepSpeed under Megatron": {
        "ds.json": RAW,
        "run.sh": "deepspeed --num_gpus 16 pretrain.py --tensor-model-parallel-size 2 --deepspeed_config ds.json\n",
    },
    "the Trainer with FSDP2": {
        "t.py": "from transformers import Seq2SeqTrainingArguments\n"
        "a = Seq2SeqTrainingArguments(output_dir='x', fsdp=True, predict_with_generate=True,\n"
        "    fsdp_config={'version': 2, 'reshard_after_forward': True, 'activation_checkpointing': True})\n"
    },
    "an fsdp_config": {
        "fsdp.json": '{"transformer_layer_cls_to_wrap": ["LlamaDecoderLayer"], "reshard_after_forward": true}'
    },
    "torchrun on one node": {
        "run.sh": "#!/usr/bin/env bash\nOMP_NUM_THREADS=4 torchrun --standalone --nproc-per-node gpu t.py --lr 1e-4\n"
    },
    "Slurm with c10d": {"job.sbatch": SLURM},
    "Slurm with a node rank that c10d ignores": {
        "job.sbatch": SLURM.replace("--nproc-per-node=8 \\", "--nproc-per-node=8 --node-rank=$SLURM_NODEID \\")
    },
    "Slurm with static rendezvous": {"job.sh": PER_NODE},
    "Lightning under Slurm": {
        "job.sbatch": "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\n#SBATCH --gpus-per-node=4\n"
        "srun python fit.py\n",
        "fit.py": "import lightning.pytorch as pl\n"
        "from lightning.pytorch.strategies import DDPStrategy\n"
        "trainer = pl.Trainer(strategy=DDPStrategy(find_unused_parameters=False), devices=4, num_nodes=2,\n"
        "    accelerator='gpu', precision='bf16-mixed', sync_batchnorm=True)\n",
    },
    "LightningCLI": {
        "config.yaml": "trainer:\n  accelerator: gpu\n  devices: 4\n  strategy:\n"
        "    class_path: lightning.pytorch.strategies.FSDPStrategy\n    init_args:\n"
        "      sharding_strategy: FULL_SHARD\n      auto_wrap_policy: [my.Block]\n"
        "  precision: bf16-mixed\nmodel:\n  class_path: my.Model\n"
    },
    "FSDP1 by hand": {
        "t.py": "from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, MixedPrecision\n"
        "bf16 = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32, buffer_dtype=torch.float32)\n"
        "for i, block in enumerate(model.blocks):\n    model.blocks[i] = FSDP(block, mixed_precision=bf16)\n"
        "model = FSDP(model, mixed_precision=bf16)\n"
    },
}


@cache
def catalogue() -> Catalogue:
    """The built-in knowledge base."""
    return built_in.catalogue()


def alarms(paths: list[Path]) -> list[str]:
    """Ids of what is reported above a note."""
    severity = {finding.id: finding.severity for finding in catalogue().findings}
    reading = read_configs(
        paths, catalogue().settings, {"accelerate": "1.15.0", "transformers": "5.23.0"}, refusals=catalogue().refusals
    )
    assert not reading.skipped
    return [o.id for o in reading.observations if severity[o.id] != "note"]


@pytest.mark.parametrize("answers", ANSWERS.values(), ids=ANSWERS)
def test_a_file_that_accelerate_writes_is_sound(tmp_path: Path, answers: dict[str, Any]) -> None:
    """What accelerate itself writes for sensible answers, it can also start."""
    pytest.importorskip("accelerate")
    from accelerate.commands.config.config_args import ClusterConfig

    common = {"compute_environment": "LOCAL_MACHINE", "mixed_precision": None, "use_cpu": False, "debug": False}
    common["downcast_bf16"] = "no"
    path = tmp_path / "default_config.yaml"
    ClusterConfig(**(common | answers)).to_yaml_file(str(path))
    assert not alarms([path])


def test_the_default_file_of_accelerate_is_sound(tmp_path: Path) -> None:
    """`accelerate config default` on this machine writes a file without faults."""
    pytest.importorskip("accelerate")
    from accelerate.commands.config.default import write_basic_config

    path = tmp_path / "default_config.yaml"
    write_basic_config(save_location=str(path))
    assert not alarms([path])


@pytest.mark.parametrize("files", SOUND.values(), ids=SOUND)
def test_a_job_that_works_is_sound(tmp_path: Path, files: dict[str, str]) -> None:
    """The usual shapes of working jobs draw no warning, each file by itself and all together."""
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert not alarms([tmp_path / name for name in files])
    for name in files:
        assert not alarms([tmp_path / name])
