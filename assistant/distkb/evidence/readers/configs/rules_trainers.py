"""Rules for the files of axolotl, LLaMA-Factory and DeepSpeed's launcher: what their own validators refuse."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from distkb.evidence.readers.configs.item import Item, Part, number, truth
from distkb.evidence.readers.configs.job import Hit, Job, Rule, hit

_TOOLS = {"axolotl": "axolotl", "llama-factory": "LLaMA-Factory"}
_HOST = re.compile(r"(\S{1,255})[ \t]{1,40}slots=(\d{1,9})")


class Pair(NamedTuple):
    """Two settings that one file may not have together: names, each with the value that counts; `+` for any."""

    first: str
    second: str
    first_is: str = "+"
    second_is: str = "+"


class Need(NamedTuple):
    """A setting that needs one of others; the value of each that counts follows `=`."""

    name: str
    value: str
    needs: tuple[str, ...]


_EXCLUDE: dict[str, tuple[Pair, ...]] = {
    "axolotl": (
        Pair("deepspeed", "fsdp"),
        Pair("deepspeed", "fsdp_config"),
        Pair("batch_size", "gradient_accumulation_steps"),
        Pair("warmup_steps", "warmup_ratio"),
        Pair("save_steps", "saves_per_epoch"),
        Pair("eval_steps", "evals_per_epoch"),
        Pair("val_set_size", "test_datasets"),
        Pair("fp16", "bf16", "true", "true"),
        Pair("load_in_8bit", "load_in_4bit", "true", "true"),
        Pair("adapter", "load_in_8bit", "qlora", "true"),
        Pair("sample_packing", "rl", "true"),
        Pair("lr_groups", "loraplus_lr_ratio"),
        Pair("pretraining_dataset", "include_tokens_per_second", "+", "true"),
        Pair("noisy_embedding_alpha", "neftune_noise_alpha"),
        Pair("optimizer", "deepspeed", "muon"),
        Pair("optimizer", "deepspeed", "q_galore_adamw8bit"),
        Pair("val_set_size", "eval_strategy", "0", "steps"),
        Pair("val_set_size", "eval_strategy", "0", "epoch"),
        Pair("val_set_size", "eval_steps", "0"),
        Pair("unfrozen_parameters", "peft_layers_to_transform"),
        Pair("batch_flattening", "sample_packing", "true", "true"),
        Pair("model_quantization_config", "load_in_8bit", "+", "true"),
        Pair("model_quantization_config", "load_in_4bit", "+", "true"),
        Pair("flash_optimum", "bf16", "true", "true"),
        Pair("flash_optimum", "fp16", "true", "true"),
        *(Pair("relora", name, "true") for name in ("fsdp", "fsdp_config", "deepspeed")),
        *(Pair("adapter", name, kind, "true") for kind in ("lora", "qlora")
          for name in ("use_onebitllms", "flash_attn_fuse_qkv", "flash_attn_fuse_mlp")),
        *(Pair("optimizer", "tensor_parallel_size", name)
          for name in ("paged_adamw_8bit", "adamw_8bit", "adamw_bnb_8bit")),
        *(Pair(f"lora_{part}_kernel", name, "true", "true") for part in ("mlp", "qkv", "o")
          for name in ("load_in_8bit", "trust_remote_code")),
        Pair("do_causal_lm_eval", "eval_sample_packing", "true", "true"),
    ),
    "llama-factory": (
        Pair("finetuning_type", "adapter_name_or_path", "full"),
        Pair("finetuning_type", "adapter_name_or_path", "freeze"),
        Pair("finetuning_type", "quantization_bit", "full"),
        Pair("finetuning_type", "quantization_bit", "freeze"),
        Pair("quantization_bit", "resize_vocab", "+", "true"),
        Pair("quantization_bit", "pissa_init", "+", "true"),
        Pair("stage", "load_best_model_at_end", "rm", "true"),
        Pair("stage", "load_best_model_at_end", "ppo", "true"),
        Pair("stage", "shift_attn", "ppo", "true"),
        *(Pair("stage", name, stage, "true") for stage in ("pt", "rm", "ppo", "dpo", "kto")
          for name in ("neat_packing", "predict_with_generate", "train_on_prompt", "mask_history")),
        Pair("fp16", "bf16", "true", "true"),
        Pair("pure_bf16", "deepspeed", "true"),
        Pair("use_galore", "deepspeed", "true"),
        Pair("use_apollo", "deepspeed", "true"),
        Pair("use_galore", "use_apollo", "true", "true"),
        Pair("use_badam", "use_galore", "true", "true"),
    ),
}  # fmt: skip
_NEEDS: dict[str, tuple[Need, ...]] = {
    "axolotl": (
        Need("base_model", "+", ("datasets", "pretraining_dataset", "test_datasets")),
        Need("adapter", "qlora", ("load_in_4bit=true", "gptq", "quantize_moe_experts", "base_model_config")),
        Need("load_in_8bit", "true", ("adapter",)),
        Need("load_in_4bit", "true", ("adapter",)),
        Need("save_steps", "+", ("save_strategy=steps", "save_strategy=-")),
        Need("eval_steps", "+", ("eval_strategy=steps", "eval_strategy=-", "evaluation_strategy")),
        Need("evals_per_epoch", "+", ("eval_strategy=-", "eval_strategy=steps")),
        Need("eval_table_size", "+", ("eval_sample_packing=false", "sample_packing=false", "sample_packing=-")),
        Need("push_dataset_to_hub", "+", ("hf_use_auth_token=true",)),
        Need("torch_compile_options", "+", ("torch_compile",)),
        Need("deepcompile", "true", ("deepspeed",)),
        Need("activation_offloading", "true", ("gradient_checkpointing",)),
        Need("selective_checkpointing", "+", ("gradient_checkpointing",)),
        Need("relora", "true", ("jagged_restart_steps",)),
        Need("fp8_enable_fsdp_float8_all_gather", "true", ("fsdp_version=2", "fsdp_config")),
        Need("peft_layers_pattern", "+", ("peft_layers_to_transform",)),
        Need("dpo_loss_weights", "+", ("dpo_loss_type",)),
        Need("do_bench_eval", "true", ("evals_per_epoch", "eval_steps")),
    ),
    "llama-factory": (
        Need("streaming", "true", ("max_steps",)),
        Need("do_predict", "true", ("predict_with_generate=true", "stage=pt", "stage=rm", "stage=dpo", "stage=kto")),
        Need("stage", "ppo", ("reward_model",)),
    ),
}


def excluded(part: Part, job: Job) -> Iterator[Hit]:
    """Settings of which the tool takes one only."""
    del job
    for pair in _EXCLUDE[part.kind]:
        first, second = part.root.get(pair.first), part.root.get(pair.second)
        if first is not None and second is not None and _is(first, pair.first_is) and _is(second, pair.second_is):
            values = {"first": f"{pair.first}: {_shown(first)}", "second": f"{pair.second}: {_shown(second)}"}
            yield hit("config.trainer-excludes", part, first, second, tool=_TOOLS[part.kind], **values)


def lacking(part: Part, job: Job) -> Iterator[Hit]:
    """Settings that the tool takes only together with others."""
    del job
    for need in _NEEDS[part.kind]:
        item = part.root.get(need.name)
        if item is None or not _is(item, need.value) or any(_holds(part, other) for other in need.needs):
            continue
        shown = " | ".join(dict.fromkeys(other.replace("=-", "").replace("=", ": ") for other in need.needs))
        yield hit("config.trainer-needs", part, item, tool=_TOOLS[part.kind], key=need.name, needs=shown)


def _shown(item: Item) -> str:
    return "…" if isinstance(item.value, (dict, tuple)) else item.shown[:60]


def _is(item: Item, wanted: str) -> bool:
    """Whether a value counts: `+` is any that switches something on."""
    if wanted == "+" and (size := number(item.value)) is not None and item.value is not True:
        return size > 0
    if wanted == "+":
        return item.value is not False and bool(item.value)
    return truth(item.value) is True if wanted == "true" else str(item.value).lower() == wanted


def _holds(part: Part, condition: str) -> bool:
    name, _, value = condition.partition("=")
    item = part.root.get(name)
    if value == "-":
        return item is None
    return item is not None and _is(item, value or "+")


def hostfile(part: Part, job: Job) -> Iterator[Hit]:
    """Lines that DeepSpeed's launcher refuses: each is `host slots=N`, and no host stands twice."""
    del job
    first: dict[str, int] = {}
    for number_of, text in enumerate(part.source.lines, 1):
        line = text.strip()
        if not line or line.startswith("#"):
            continue
        found = _HOST.match(line)
        item = Item(value=line, line=number_of, text=line)
        if found is None:
            yield hit("config.hostfile-bad-line", part, item, line=line[:80])
        elif found[1] in first:
            yield hit("config.hostfile-host-twice", part, item, host=found[1], line=first[found[1]])
        else:
            first[found[1]] = number_of


_BATCHES = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
_ONE_BIT = frozenset({"onebitadam", "onebitlamb", "zerooneadam"})
_SCHEDULERS = ("LRRangeTest", "OneCycle", "WarmupLR", "WarmupDecayLR", "WarmupCosineLR")
_DTYPES = ("fp32", "fp16", "bf16", "bfp16")


def deepspeed_values(part: Part, job: Job) -> Iterator[Hit]:
    """Values that DeepSpeed refuses when it reads its file."""
    for name in _BATCHES:
        item = part.get(name)
        if item is not None and (size := number(item.value)) is not None and size < 1:
            yield hit("config.deepspeed-batch-not-positive", part, item, key=name, value=item.shown)
    raw = part.owner == "deepspeed.initialize" or any(call.name == "deepspeed.initialize" for call in job.of("call"))
    if raw and not job.uses_hf and not any(part.get(name) for name in _BATCHES[:2]) and part.get("zero_optimization"):
        yield hit("config.deepspeed-no-batch", part, part.get("zero_optimization"))
    for path, allowed in (
        (("checkpoint", "tag_validation"), ("Ignore", "Warn", "Fail")),
        (("communication_data_type",), _DTYPES),
        (("seq_parallel_communication_data_type",), _DTYPES),
        (("data_types", "grad_accum_dtype"), _DTYPES),
        (("scheduler", "type"), _SCHEDULERS),
        (("zero_optimization", "offload_optimizer", "device"), ("none", "cpu", "nvme")),
        (("zero_optimization", "offload_param", "device"), ("none", "cpu", "nvme")),
    ):
        item = part.get(*path)
        if item is None or not isinstance(item.value, str) or item.value == "auto":
            continue
        if item.value.lower() not in {value.lower() for value in allowed}:
            values = {"key": ".".join(path), "value": item.shown, "allowed": ", ".join(allowed)}
            yield hit("config.deepspeed-unknown-value", part, item, **values)
    kind, stage = part.get("optimizer", "type"), number(part.value("zero_optimization", "stage")) or 0
    if kind is not None and str(kind.value).lower() in _ONE_BIT and stage > 0:
        yield hit("config.deepspeed-one-bit-zero", part, kind, name=kind.shown, stage=stage)
    clip = part.get("gradient_clipping")
    if clip is not None and isinstance(clip.value, (bool, dict)):
        values = {"key": "gradient_clipping", "value": _shown(clip), "allowed": "1.0"}
        yield hit("config.deepspeed-unknown-value", part, clip, **values)


def clip_by_value(part: Part, job: Job) -> Iterator[Hit]:
    """Lightning clips by value under no strategy that shards."""
    del job
    how, strategy = part.get("gradient_clip_algorithm"), part.get("strategy")
    if how is None or strategy is None or str(how.value).lower() != "value":
        return
    if re.search(r"(?i)deepspeed|fsdp", strategy.text or str(strategy.value)):
        yield hit("config.lightning-clip-by-value", part, how, strategy=strategy.shown[:60])


RULES = (
    Rule(ids=("config.trainer-excludes",), kinds=("axolotl", "llama-factory"), check=excluded),
    Rule(ids=("config.trainer-needs",), kinds=("axolotl", "llama-factory"), check=lacking),
    Rule(ids=("config.hostfile-bad-line", "config.hostfile-host-twice"), kinds=("hostfile",), check=hostfile),
    Rule(
        ids=(
            "config.deepspeed-batch-not-positive",
            "config.deepspeed-no-batch",
            "config.deepspeed-unknown-value",
            "config.deepspeed-one-bit-zero",
        ),
        kinds=("deepspeed",),
        check=deepspeed_values,
    ),
    Rule(ids=("config.lightning-clip-by-value",), kinds=("lightning-trainer",), check=clip_by_value),
)
