"""Files of TRL, of the Trainer and of Accelerate: what the library refuses is found, and nothing else."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import built_in
import pytest

from distkb.evidence.readers.configs import read_configs
from distkb.evidence.readers.configs.load import load_parts

TRAINER = {"output_dir": "out", "learning_rate": 2e-5, "per_device_train_batch_size": 8, "num_train_epochs": 3}
TRL = {**TRAINER, "model_name_or_path": "Qwen/Qwen2.5-0.5B", "dataset_name": "trl-lib/tldr"}
SFT = {**TRL, "packing": False, "bf16": True}
GRPO = {**TRL, "num_generations": 8, "max_completion_length": 64}
DPO = {**TRL, "loss_type": ["sigmoid", "sft"], "loss_weights": [1.0, 0.5]}
KTO = {**TRL, "desirable_weight": 1.0}
ACCELERATE = {"compute_environment": "LOCAL_MACHINE", "distributed_type": "MULTI_GPU", "num_processes": 4,
              "num_machines": 1, "machine_rank": 0, "mixed_precision": "bf16"}  # fmt: skip
FSDP2: dict[str, Any] = {
    **ACCELERATE,
    "distributed_type": "FSDP",
    "fsdp_config": {"fsdp_version": 2, "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP"},
}

WRONG: list[dict[str, Any]] = [
    {**SFT, "load_in_4bit": True, "load_in_8bit": True},
    {**SFT, "datasets": [{"path": "a", "fractoin": 0.5}]},
    {**SFT, "datasets": [{"name": "a"}]},
    {**SFT, "datasets": [{"path": "a", "fraction": 0.5}, {"path": "b"}]},
    {**SFT, "env": "NCCL_DEBUG=INFO"},
    {**SFT, "packing": "maybe"},
    {**SFT, "packing": True, "max_length": None},
    {**SFT, "packing_strategy": "greedy"},
    {**SFT, "loss_type": "focal"},
    {**SFT, "pad_to_multiple_of": "x"},
    {**SFT, "gradient_checkpointing_kwargs": {"selective": True, "use_reentrant": True}},
    {**DPO, "loss_weights": [1.0]},
    {**TRL, "loss_weights": [1.0, 2.0]},
    {**DPO, "f_divergence_type": "kl"},
    {**DPO, "sync_ref_model": True, "precompute_ref_log_probs": True},
    {**KTO, "per_device_train_batch_size": 1},
    {**GRPO, "num_generations": 1},
    {**GRPO, "generation_batch_size": 16, "steps_per_generation": 2},
    {**GRPO, "generation_batch_size": 16, "num_generations": 5},
    {**GRPO, "generation_batch_size": 12, "num_generations": 4},
    {**GRPO, "log_completions_hub_repo": "me/it"},
    {**GRPO, "sync_ref_model": True, "beta": 0.0},
    {**GRPO, "use_vllm": True, "vllm_mode": "local"},
    {**GRPO, "vllm_importance_sampling_clip_min": 2.0, "vllm_importance_sampling_clip_max": 1.0},
    {**GRPO, "vllm_importance_sampling_mode": "token_truncate", "vllm_importance_sampling_clip_max": None},
    {**TRAINER, "optim": "adamw_hf"},
    {**TRAINER, "optim_args": "rank"},
    {**TRAINER, "save_strategy": "best"},
    {**TRAINER, "logging_steps": 1.5},
    {**TRAINER, "load_best_model_at_end": True, "eval_strategy": "steps", "save_steps": 0.3, "eval_steps": 0.2},
    {**TRAINER, "lr_scheduler_kwargs": {"num_cycles": 2}},
    {**TRAINER, "lr_scheduler_type": "polynomial", "lr_scheduler_kwargs": {"lr_end": 0.1}},
    {**TRAINER, "lr_scheduler_type": "cosine_with_min_lr", "lr_scheduler_kwargs": {"min_lr": 0.1, "min_lr_rate": 0.1}},
    {**TRAINER, "accelerator_config": {"split_batch": True}},
    {**TRAINER, "parallelism_config": {"cp_size": 2}},
    {**TRAINER, "torch_compile_backend": "indcutor"},
    {**TRAINER, "gradient_checkpointing": True, "gradient_checkpointing_kwargs": {"reentrant": False}},
    {**TRAINER, "report_to": ["tensorboardx"]},
    {**TRAINER, "fsdp": True, "fsdp_config": {"auto_wrap_policy": "transformer_based_wrap"}},
    {**TRAINER, "deepspeed": {"train_micro_batch_size_per_gpu": "auto"}},
    {**ACCELERATE, "compute_environment": "LOCAL"},
    {**ACCELERATE, "distributed_type": "TPU"},
    {**ACCELERATE, "num_processes": 0},
    {**ACCELERATE, "gpu_ids": "0", "num_processes": 1},
    {**ACCELERATE, "num_machines": "1"},
    {**ACCELERATE, "main_process_port": "29500"},
    {**ACCELERATE, "main_process_port": 70000},
    {**ACCELERATE, "mixed_precision": 16},
    {**ACCELERATE, "dynamo_backend": "inductr"},
    {**ACCELERATE, "parallelism_config": {"parallelism_config_cp_size": 4}},
    {**FSDP2, "fsdp_config": {**FSDP2["fsdp_config"], "fsdp_version": 3}},
    {**FSDP2, "fsdp_config": {**FSDP2["fsdp_config"], "fsdp_offload_params": "maybe"}},
    {**FSDP2, "mixed_precision": "fp8", "fp8_config": {"backend": "AO"}},
    {**FSDP2, "parallelism_config": {"parallelism_config_tp_size": 4}},
]
RIGHT: list[dict[str, Any]] = [
    SFT, GRPO, DPO, KTO, ACCELERATE, FSDP2,
    {**SFT, "packing": True, "max_length": 2048, "packing_strategy": "bfd"},
    {**SFT, "datasets": [{"path": "a", "split": "train"}, {"path": "b", "columns": ["text"]}], "streaming": True},
    {**SFT, "env": {"NCCL_DEBUG": "INFO"}, "max_length": "none", "pad_to_multiple_of": 64},
    {**SFT, "packing": "${PACK}", "loss_type": "<LOSS>", "max_length": "${LENGTH}"},
    {**GRPO, "generation_batch_size": 64, "beta": 0.04, "sync_ref_model": True, "scale_rewards": False},
    {**GRPO, "vllm_importance_sampling_clip_min": 0.5, "vllm_importance_sampling_clip_max": 2.0},
    {**TRAINER, "optim": "paged_adamw_8bit", "optim_args": "a=1,b=x", "save_strategy": "best",
     "metric_for_best_model": "loss"},
    {**TRAINER, "logging_steps": 0.1, "save_steps": 500.0, "report_to": "none", "torch_compile_backend": "inductor"},
    {**TRAINER, "load_best_model_at_end": True, "eval_strategy": "steps", "save_steps": 0.3, "eval_steps": 0.1,
     "save_strategy": "steps"},
    {**TRAINER, "lr_scheduler_type": "cosine", "lr_scheduler_kwargs": {"num_cycles": 0.5}, "seed": 0},
    {**ACCELERATE, "gpu_ids": "0,1,2,3", "main_process_port": 0},
    {**FSDP2, "mixed_precision": "fp8", "fp8_config": {"backend": "AO"},
     "fsdp_config": {**FSDP2["fsdp_config"], "fsdp_cpu_ram_efficient_loading": False}},
    {**FSDP2, "parallelism_config": {"parallelism_config_tp_size": 2, "parallelism_config_dp_shard_size": 2}},
]  # fmt: skip


@functools.cache
def _catalogue() -> Any:
    return built_in.catalogue()


def problems(folder: Path, **files: str) -> list[str]:
    """Errors and warnings about files of one job."""
    paths = [folder / name.replace("_", ".") for name in files]
    for path, text in zip(paths, files.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    severity = {finding.id: finding.severity for finding in _catalogue().findings}
    reading = read_configs(paths, _catalogue().settings, {}, refusals=_catalogue().refusals)
    assert not reading.skipped
    return [o.id for o in reading.observations if severity.get(o.id) in {"error", "warning"}]


def test_what_the_library_refuses_is_found(tmp_path: Path) -> None:
    """Each of these files stops the newest release of its library."""
    assert [given for given in WRONG if not problems(tmp_path, train_yaml=json.dumps(given))] == []


def test_what_the_library_takes_is_quiet(tmp_path: Path) -> None:
    """Right files, templates among them."""
    said = {json.dumps(given): problems(tmp_path, train_yaml=json.dumps(given)) for given in RIGHT}
    assert {text: found for text, found in said.items() if found} == {}


@pytest.mark.parametrize(
    ("given", "kinds"),
    [
        (SFT, ["trl", "training-arguments"]),
        (TRL, ["training-arguments"]),
        ({**GRPO, "rlhf_type": "grpo"}, ["training-arguments"]),
        ({**GRPO, "stage": "dpo", "template": "qwen"}, ["llama-factory", "training-arguments"]),
    ],
)
def test_a_file_of_trl_is_told_from_others(tmp_path: Path, given: dict[str, Any], kinds: list[str]) -> None:
    """By names that only it has, and without those of others."""
    path = tmp_path / "train.yaml"
    path.write_text(json.dumps(given), encoding="utf-8")
    assert [part.kind for part in load_parts(path)] == kinds


def test_several_files_are_held_against_one_another(tmp_path: Path) -> None:
    """A launch command wins over the file, and counts the processes of a training file."""
    given = json.dumps({**ACCELERATE, "num_processes": -1})
    assert problems(tmp_path, a_yaml=given) != []
    launch = "accelerate launch --config_file a.yaml --num_processes 4 train.py"
    assert problems(tmp_path, a_yaml=given, run_sh=launch) == []
    tp = {**GRPO, "use_vllm": True, "vllm_mode": "colocate", "vllm_tensor_parallel_size": 3}
    torchrun = "torchrun --nproc_per_node 8 grpo.py --config g.yaml"
    assert problems(tmp_path, g_yaml=json.dumps(tp), run_sh=torchrun) == ["config.trainer-indivisible"]
    cp = {**FSDP2, "parallelism_config": {"parallelism_config_cp_size": 2, "parallelism_config_dp_shard_size": 2}}
    packed = {**SFT, "packing": True}
    assert problems(tmp_path, a_yaml=json.dumps(cp), s_yaml=json.dumps(packed)) == ["config.trainer-excludes"]


def test_a_call_of_a_configuration_class_is_read(tmp_path: Path) -> None:
    """What stands in `**` may be what is lacking."""
    call = "from trl import GRPOConfig\nGRPOConfig('out', {})\n"
    assert problems(tmp_path, t_py=call.format("num_generations=1")) == ["config.trainer-refuses"]
    assert problems(tmp_path, t_py=call.format("log_completions_hub_repo='a/b'")) == ["config.trainer-needs"]
    assert problems(tmp_path, t_py=call.format("log_completions_hub_repo='a/b', **more")) == []
