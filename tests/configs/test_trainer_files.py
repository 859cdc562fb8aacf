"""Training files of axolotl and LLaMA-Factory, DeepSpeed's values and hostfiles: what is refused is found."""

from __future__ import annotations

import functools
import itertools
import json
from pathlib import Path
from typing import Any

import built_in
import pytest

from distkb.evidence.readers.configs import find_configs, read_configs

AXOLOTL = {
    "base_model": "NousResearch/Llama-3.2-1B",
    "datasets": [{"path": "teknium/GPT4-LLM-Cleaned", "type": "alpaca"}],
    "micro_batch_size": 2,
    "gradient_accumulation_steps": 4,
    "learning_rate": 0.0002,
}
FACTORY = {
    "model_name_or_path": "meta-llama/Meta-Llama-3-8B-Instruct",
    "stage": "sft",
    "do_train": True,
    "finetuning_type": "lora",
    "dataset": "identity",
    "template": "llama3",
    "cutoff_len": 2048,
    "output_dir": "saves/llama3",
    "per_device_train_batch_size": 1,
    "learning_rate": 0.0001,
}
DEEPSPEED = {"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": 2}, "bf16": {"enabled": True}}

AXOLOTL_WRONG: list[dict[str, Any]] = [
    {"deepspeed": "zero3.json", "fsdp": ["full_shard"]},
    {"deepspeed": "zero3.json", "fsdp_config": {"reshard_after_forward": True}},
    {"batch_size": 32},
    {"warmup_steps": 10, "warmup_ratio": 0.1},
    {"save_steps": 100, "saves_per_epoch": 2},
    {"eval_steps": 100, "evals_per_epoch": 2},
    {"save_strategy": "epoch", "save_steps": 10},
    {"eval_strategy": "epoch", "eval_steps": 10},
    {"val_set_size": 0, "eval_strategy": "steps"},
    {"adapter": "qlora", "load_in_4bit": False},
    {"adapter": "qlora", "load_in_4bit": True, "load_in_8bit": True},
    {"load_in_8bit": True},
    {"rl": "dpo", "sample_packing": True},
    {"optimizer": "muon", "deepspeed": "zero1.json"},
    {"relora": True, "jagged_restart_steps": 10, "deepspeed": "zero2.json"},
    {"deepcompile": True},
    {"activation_offloading": True},
    {"adapter": "lora", "load_in_8bit": True, "lora_mlp_kernel": True},
    {"attn_implementation": "flash"},
    {"attn_implementation": "sdpa", "flash_attention": True},
    {"rl": "grpo", "trl": {"num_generations": 3, "generation_batch_size": 8}},
    {"rl": "grpo", "trl": {"num_generations": 3}},
    {"rl": "kto"},
    {"datasets": [{"path": "a", "type": "sharegpt"}]},
    {"optimizer": "muon", "fsdp_version": 1, "fsdp_config": {"offload_params": True}},
    {"optimizer": "adamw_bnb_8bit", "fsdp_version": 2, "fsdp_config": {"reshard_after_forward": True}},
    {"fsdp_version": 2, "fsdp_config": {"auto_wrap_policy": "SIZE_BASED_WRAP"}},
    {"adapter": "lora", "lora_target_modules": ["q_proj", "(unclosed"]},
    {"early_stopping_patience": 2, "save_steps": 15, "eval_steps": 10, "val_set_size": 0.1},
    {"streaming": True},
    {"context_parallel_size": 2},
    {"context_parallel_size": 2, "attn_implementation": "flash_attention_3"},
    {"sample_packing": "perhaps"},
    {"warmup_steps": 0.1},
    {"output_dir": None},
    {"plugins": "axolotl.integrations.liger.LigerPlugin"},
    {"rl": "DPO"},
    {"fsdp_version": 2, "fsdp_config": {"state_dict_type": "full_state_dict"}},
    {"lr_groups": [{"name": "a", "modules": ["q_proj"], "lr": "fast"}]},
    {"rl": "ebft", "ebft": {"mode": "strided", "top_p": 2}},
    {"fp8": True, "fp8_config": {"recipe": "rowwise", "fp8_enable_fsdp_float8_all_gather": True}},
    {"optimizer": "polora"},
    {"optimizer": "adam"},
    {"dataloader_prefetch_factor": 4},
    {"evaluation_strategy": "epoch", "evals_per_epoch": 2, "val_set_size": 0.1},
    {"adapter": "qlora", "load_in_4bit": True, "fsdp_version": 2, "fsdp_config": {"cpu_ram_efficient_loading": True}},
    {"adapter": "lora", "tokens": ["<a>"]},
    {"plugins": ["axolotl.integrations.swanlab.SwanLabPlugin"]},
    {
        "plugins": ["axolotl.integrations.diffusion.DiffusionPlugin"],
        "diffusion": {"min_mask_ratio": 0.8, "max_mask_ratio": 0.2},
    },
]
AXOLOTL_RIGHT: list[dict[str, Any]] = [
    {},
    {"deepspeed": "zero3.json", "bf16": "auto"},
    {
        "fsdp_version": 2,
        "fsdp_config": {"reshard_after_forward": True, "transformer_layer_cls_to_wrap": "LlamaDecoderLayer"},
    },
    {"adapter": "qlora", "load_in_4bit": True, "load_in_8bit": False},
    {"adapter": "lora", "load_in_8bit": True},
    {"warmup_ratio": 0.1, "evals_per_epoch": 4, "saves_per_epoch": 1, "val_set_size": 0.05},
    {"save_strategy": "steps", "save_steps": 10, "eval_strategy": "steps", "eval_steps": 10, "val_set_size": 0.1},
    {"sample_packing": True, "pad_to_sequence_len": True, "sequence_len": 4096},
    {"rl": "dpo", "sample_packing": False},
    {"fp16": None, "bf16": True, "tf32": True},
    {"attn_implementation": "kernels-community/flash-attn3"},
    {"rl": "grpo", "trl": {"num_generations": 4, "generation_batch_size": 8}},
    {"optimizer": "muon", "fsdp_version": 2, "fsdp_config": {"offload_params": True}},
    {"early_stopping_patience": 2, "save_steps": 20, "eval_steps": 10, "val_set_size": 0.1},
    {"context_parallel_size": 2, "flash_attention": True},
    {"fp16": True, "bf16": True},
    {
        "sample_packing": "yes",
        "num_epochs": "2",
        "save_steps": 0.25,
        "activation_offloading": "disk",
        "gradient_checkpointing": True,
    },
    {"liger_use_token_scaling": True, "expert_backend": "mine"},
    {"fsdp_config": {"min_mask": 1}},
    {"lr_groups": [{"name": "a", "modules": ["q_proj"], "lr": 0.0001}]},
]
FACTORY_WRONG: list[dict[str, Any]] = [
    {"finetuning_type": "full", "quantization_bit": 4},
    {"finetuning_type": "full", "adapter_name_or_path": "saves/lora"},
    {"quantization_bit": 4, "resize_vocab": True},
    {"stage": "pt", "neat_packing": True},
    {"stage": "dpo", "predict_with_generate": True},
    {"stage": "rm", "load_best_model_at_end": True},
    {"stage": "ppo"},
    {"streaming": True},
    {"fp16": True, "bf16": True},
    {"pure_bf16": True, "deepspeed": "ds_z3.json"},
    {"finetuning_type": "full", "use_galore": True, "deepspeed": "ds_z2.json"},
    {"do_train": False, "do_predict": True},
    {"lora_rnk": 8},
    {"nothing_like_it": 1},
    {"template": "lama3"},
    {"quantization_bit": 3},
    {"eval_strategy": "steps", "eval_steps": 10},
    {"dataset": "a,b,c", "interleave_probs": "0.5,0.5", "mix_strategy": "interleave_under"},
    {"image_max_pixels": 100, "image_min_pixels": 1024},
    {"flash_attn": True},
    {"stage": "SFT"},
]
FACTORY_RIGHT: list[dict[str, Any]] = [
    {},
    {"bf16": True, "deepspeed": "examples/deepspeed/ds_z3_config.json"},
    {"quantization_bit": 4},
    {"finetuning_type": "full", "bf16": True},
    {"stage": "dpo", "pref_beta": 0.1, "pref_loss": "sigmoid"},
    {"stage": "ppo", "reward_model": "saves/rm"},
    {"streaming": True, "max_steps": 1000},
    {"do_predict": True, "predict_with_generate": True, "eval_dataset": "identity"},
    {"dataset": "a, b", "interleave_probs": "0.5,0.5", "mix_strategy": "interleave_under"},
    {"tensor_model_parallel_size": 2, "moe_shared_expert_overlap": True},
    {"quantization_bit": 6, "quantization_method": "hqq"},
    {"val_size": 0.1, "eval_strategy": "steps", "eval_steps": 10, "flash_attn": "fa2"},
]
DEEPSPEED_WRONG: list[dict[str, Any]] = [
    {"train_micro_batch_size_per_gpu": 0},
    {"gradient_accumulation_steps": 0},
    {"train_batch_size": -8},
    {"scheduler": {"type": "CosineLR", "params": {}}},
    {"checkpoint": {"tag_validation": "Error"}},
    {"communication_data_type": "float16"},
    {"optimizer": {"type": "OneBitAdam", "params": {"lr": 1e-4}}},
    {"optimizer": {"type": "ZeroOneAdam", "params": {"lr": 1e-4}}},
    {"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "disk"}}},
    {"zero_optimization": {"stage": 2, "offload_optimizer": "cpu"}},
    {"gradient_allreduce_op": "sum", "zero_optimization": {"stage": 3}},
    {"elasticity": {"enabled": True, "max_train_batch_size": 64, "micro_batch_sizes": [2, 4]}},
    {"fp16": None},
    {"zero_optimization": {"stage": 2, "offload_optimizer": {"device": None}}},
    {"zero_optimization": {"stage": 2, "offload_optimizer": {"device": "CPU"}}},
    {"zero_optimization": {"stage": 1, "allgather_bucket_size": 1001}},
    {"zero_optimization": {"stage": 3, "prefetch_bucket_size": 1, "stage3_prefetch_bucket_size": 2}},
    {"zero_optimization": {"stage": 2, "zenflow": {"topk_ratio": 0.1}}},
    {"zero_optimization": {"stage": 3}, "prescale_gradients": True},
    {"scheduler": {"type": "WarmupLR"}},
    {"scheduler": {"type": "StepLR", "params": {}}, "zero_optimization": {"stage": 0}},
    {"optimizer": {"type": "AdamX", "params": {"lr": 1e-4}}, "zero_allow_untested_optimizer": True},
    {"optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "amsgrad": True}}},
    {"data_types": {"param_dtype": "fp16"}},
    {"compile": {"passes": ["z2"]}},
    {"tensor_parallel": {"dtype": "bf16"}},
    {"checkpoint": {"writer": {"type": "slow"}}},
    {"expert_parallel": {"enabled": True, "autoep_size": 4, "comm_backend": "deepep"}},
    {"expert_parallel": {"enabled": True, "autoep_size": 1}, "tensor_parallel": {"autotp_size": 2}},
    {"data_efficiency": {"data_sampling": {"curriculum_learning": {"enabled": True}}}},
    {"train_batch_size": 3, "gradient_accumulation_steps": 2, "train_micro_batch_size_per_gpu": None},
]
DEEPSPEED_RIGHT: list[dict[str, Any]] = [
    {},
    {"scheduler": {"type": "WarmupDecayLR", "params": {"total_num_steps": 100}}},
    {"scheduler": {"type": "CosineAnnealingLR", "params": {"T_max": 100}}, "zero_optimization": {"stage": 0}},
    {"checkpoint": {"tag_validation": "Warn"}},
    {"communication_data_type": "bfp16"},
    {"optimizer": {"type": "OneBitAdam", "params": {"lr": 1e-4}}, "zero_optimization": {"stage": 0}},
    {"gradient_clipping": 1.0},
    {"bf16": {"enabled": True}, "bfloat16": None, "aio": None},
    {"zero_optimization": {"stage": 1}, "prescale_gradients": True},
    {"zero_optimization": {"stage": 3, "overlap_comm": None, "offload_param": None}},
    {"data_types": {"grad_accum_dtype": "float32", "param_dtype": "bf16"}},
    {"expert_parallel": {"enabled": True, "autoep_size": 4}},
    {"optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "torch_adam": True, "amsgrad": True}}},
]


@functools.cache
def _catalogue() -> Any:
    return built_in.catalogue()


def problems(path: Path, text: str) -> list[str]:
    """Errors and warnings about one file."""
    path.write_text(text, encoding="utf-8")
    severity = {finding.id: finding.severity for finding in _catalogue().findings}
    reading = read_configs([path], _catalogue().settings, {}, refusals=_catalogue().refusals)
    assert not reading.skipped
    return [o.id for o in reading.observations if severity.get(o.id) in {"error", "warning"}]


SIZES = [(2, 4, 2e-4), (1, 1, 1e-5), (8, 2, 3e-4)]
"""Batch sizes, accumulation and learning rates that right and wrong files are varied by."""


def varied(base: dict[str, Any], changes: list[dict[str, Any]], *names: str) -> list[str]:
    """Each file with several sizes; JSON is YAML."""
    return [
        json.dumps({**base, **dict(zip(names, sizes, strict=True)), **change}, indent=1)
        for change, sizes in itertools.product(changes, SIZES)
    ]


_A = ("micro_batch_size", "gradient_accumulation_steps", "learning_rate")
_F = ("per_device_train_batch_size", "gradient_accumulation_steps", "learning_rate")
WRONG = varied(AXOLOTL, AXOLOTL_WRONG, *_A) + varied(FACTORY, FACTORY_WRONG, *_F)
RIGHT = varied(AXOLOTL, AXOLOTL_RIGHT, *_A) + varied(FACTORY, FACTORY_RIGHT, *_F)


def test_what_a_trainer_refuses_is_found(tmp_path: Path) -> None:
    """Every file that the tool's own validator refuses has an error."""
    assert [text for text in WRONG if not problems(tmp_path / "train.yaml", text)] == []


def test_what_a_trainer_takes_is_quiet(tmp_path: Path) -> None:
    """No file that the tool takes has an error or a warning."""
    said = {text: found for text in RIGHT if (found := problems(tmp_path / "train.yaml", text))}
    assert said == {}


@pytest.mark.parametrize(
    "change", DEEPSPEED_WRONG, ids=[next(iter(one)) + str(i) for i, one in enumerate(DEEPSPEED_WRONG)]
)
def test_what_deepspeed_refuses_is_found(change: dict[str, Any], tmp_path: Path) -> None:
    """A value that DeepSpeed refuses is an error."""
    assert problems(tmp_path / "ds.json", json.dumps({**DEEPSPEED, **change}))


def test_what_deepspeed_takes_is_quiet(tmp_path: Path) -> None:
    """A config that DeepSpeed takes has no error and no warning."""
    assert [c for c in DEEPSPEED_RIGHT if problems(tmp_path / "ds.json", json.dumps({**DEEPSPEED, **c}))] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("worker-0 slots=8\nworker-1 slots=8\n", None),
        ("# nodes\n\nworker-0 slots=8\n", None),
        ("worker-0 slots=8\nworker-0 slots=8\n", "config.hostfile-host-twice"),
        ("worker-0 slots=8\nworker-1\n", "config.hostfile-bad-line"),
        ("worker-0 slots = 8\n", "config.hostfile-bad-line"),
        ("worker-0 slots=8\nworker-1:8\n", "config.hostfile-bad-line"),
    ],
)
def test_hostfiles(text: str, found: str | None, tmp_path: Path) -> None:
    """Each line is `host slots=N`, and no host stands twice; the file is found in a folder by its name."""
    assert problems(tmp_path / "hostfile", text) == ([] if found is None else [found])
    assert find_configs([tmp_path]) == [tmp_path / "hostfile"]


TOGETHER = {
    "a layer of another model": (
        {
            "fsdp.yaml": "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nnum_processes: 4\nfsdp_config:\n"
            "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"
            "  fsdp_transformer_layer_cls_to_wrap: LlamaDecoderLayer\n",
            "sft.yaml": "model_name_or_path: Qwen/Qwen2.5-7B\nper_device_train_batch_size: 2\nnum_train_epochs: 1\n",
        },
        "config.trainer-excludes",
    ),
    "generations that do not divide the batch of all processes": (
        {
            "zero2.yaml": "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_processes: 3\n",
            "grpo.yaml": "per_device_train_batch_size: 4\ngradient_accumulation_steps: 2\nnum_generations: 16\n",
        },
        "config.trainer-indivisible",
    ),
    "a group of generations for each process": (
        {
            "grpo.yaml": "base_model: a/b\ndatasets:\n- path: a\nlearning_rate: 0.1\nrl: grpo\nmicro_batch_size: 2\n"
            "gradient_accumulation_steps: 2\ntrl:\n  num_generations: 4\n",
            "run.sh": "torchrun --nnodes 1 --nproc_per_node 8 -m axolotl.cli.train grpo.yaml\n",
        },
        "config.trainer-excludes",
    ),
    "a reader of weights that ZeRO 3 does not leave whole": (
        {
            "ds.json": '{"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": "auto"}',
            "sft.yaml": "model_name_or_path: a/b\nstage: sft\nfinetuning_type: full\ndo_train: true\n"
            "dataset: identity\ndeepspeed: ds.json\npure_bf16: true\n",
        },
        "config.trainer-excludes",
    ),
    "no ZeRO block for the Trainer": (
        {
            "ds.json": '{"train_micro_batch_size_per_gpu": 2, "bf16": {"enabled": true}}',
            "train.yaml": "deepspeed: ds.json\nper_device_train_batch_size: 2\nbf16: true\nmax_steps: 9\n",
        },
        "config.trainer-needs",
    ),
}


@pytest.mark.parametrize("name", TOGETHER)
def test_what_only_two_files_together_show_is_found_in_both(tmp_path: Path, name: str) -> None:
    """The finding quotes each file, and neither file shows it alone."""
    files, wanted = TOGETHER[name]
    paths = []
    for file, text in files.items():
        (tmp_path / file).write_text(text, encoding="utf-8")
        paths.append(tmp_path / file)
    catalogue = built_in.catalogue()
    both = read_configs(paths, catalogue.settings, {}, refusals=catalogue.refusals)
    found = next(o for o in both.observations if o.id == wanted)
    in_one = wanted.endswith("-indivisible") or "run.sh" in files
    assert len({quote.path for quote in found.quotes}) == (1 if in_one else 2)
    for path in paths:
        alone = read_configs([path], catalogue.settings, {}, refusals=catalogue.refusals)
        assert wanted not in {o.id for o in alone.observations}
