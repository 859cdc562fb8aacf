"""Rules for the Trainer's arguments, and for what they say against DeepSpeed's and Accelerate's files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from distkb.evidence.readers.configs.item import UNKNOWN, ConfigPart, ConfigValue, number, truth
from distkb.evidence.readers.configs.job import (
    ConfigContext,
    ConfigFinding,
    ConfigRule,
    also,
    default_version,
    fsdp_of,
    hit,
    short,
    world_size,
)
from distkb.evidence.readers.configs.rules_deepspeed import stage_of

_PAIRS: Final = {
    "train_micro_batch_size_per_gpu": ("per_device_train_batch_size", 8),
    "gradient_accumulation_steps": ("gradient_accumulation_steps", 1),
    "gradient_clipping": ("max_grad_norm", 1.0),
    "optimizer.params.lr": ("learning_rate", 5e-5),
    "optimizer.params.weight_decay": ("weight_decay", 0.0),
    "optimizer.params.eps": ("adam_epsilon", 1e-8),
    "scheduler.params.warmup_max_lr": ("learning_rate", 5e-5),
    "scheduler.params.warmup_num_steps": ("warmup_steps", None),
    "scheduler.params.total_num_steps": ("max_steps", None),
}
"""DeepSpeed's key, the argument that must say the same, and what the argument is where nobody sets it; None where
that depends on more."""
_AXOLOTL: Final = {"per_device_train_batch_size": "micro_batch_size"}
"""Names that axolotl has for arguments."""


_FSDP_WORDS: Final = (
    "full_shard", "shard_grad_op", "no_shard", "hybrid_shard", "hybrid_shard_zero2", "offload", "auto_wrap",
)  # fmt: skip


def _fsdp_value(part: ConfigPart) -> ConfigValue | None:
    item = part.get("fsdp")
    return None if item is None or item.value in (None, "", False) or item.value == () else item


def precision(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """At most one of fp16 and bf16; and the argument wins over Accelerate's file."""
    fp16, bf16 = part.get("fp16"), part.get("bf16")
    on16 = fp16 is not None and truth(fp16.value) is True
    on_b = bf16 is not None and truth(bf16.value) is True
    if on16 and on_b:
        yield hit("config.arguments-fp16-and-bf16", part, fp16, bf16)
        return
    chosen, item = ("fp16", fp16) if on16 else ("bf16", bf16) if on_b else ("", None)
    for other in job.of("accelerate"):
        theirs = other.get("mixed_precision")
        if chosen and theirs is not None and theirs.value in ("fp16", "bf16", "fp8") and theirs.value != chosen:
            first = hit(
                "config.precision-overridden", part, item, argument=chosen, file=other.source.base, value=theirs.value
            )
            yield also(first, other, theirs)


def fsdp(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """`fsdp` as a text, a strategy that FSDP2 does not have, a config without its switch."""
    item, block = _fsdp_value(part), part.get("fsdp_config")
    if item is None:
        by_launcher = any(other.value("distributed_type") == "FSDP" for other in job.of("accelerate"))
        by_launcher |= any("use_fsdp" in command.root for command in job.of("command"))
        if block is not None and _is_written(block) and not by_launcher:
            yield hit("config.fsdp-config-without-fsdp", part, block)
        return
    words = _words(item)
    unknown = next((word for word in _typed(item) if word not in _FSDP_WORDS), None)
    if unknown is not None:
        allowed = ", ".join(_FSDP_WORDS)
        yield hit(
            "config.trainer-unknown-value", part, item, tool="The Trainer", key=f"fsdp: {unknown}", allowed=allowed
        )
    elif words:
        if job.since("transformers", "5.5") is not False:
            yield hit("config.fsdp-legacy-words", part, item, value=short(" ".join(words)))
        version = _version(part, job)
        if job.since("transformers", "5.5") is False and "auto_wrap" not in words and "offload" not in words[:1]:
            yield hit("config.fsdp-words-no-auto-wrap", part, item, value=short(" ".join(words)))
        for word in words:
            if word == "shard_grad_op" and version == 1 and job.since("transformers", "5.10"):
                yield hit("config.fsdp1-strategy-lost-trainer", part, item, key="fsdp", value=word, wanted=word.upper())
            if word in {"hybrid_shard", "hybrid_shard_zero2", "no_shard"} and version == 2:
                yield hit("config.fsdp2-no-such-strategy", part, item, word=word)
    if part.get("deepspeed") is not None and part.value("deepspeed") is not None:
        yield hit("config.fsdp-and-deepspeed", part, item, part.get("deepspeed"))


def _is_written(block: ConfigValue) -> bool:
    return block.value is not UNKNOWN and bool(block.value) and block.value != "{}"


def _words(item: ConfigValue) -> list[str]:
    if isinstance(item.value, str) and truth(item.value) is None:
        return item.value.replace(",", " ").split()
    if isinstance(item.value, tuple):
        return [str(entry.value) for entry in item.value if isinstance(entry.value, str)]
    return []


def _typed(item: ConfigValue) -> list[str]:
    """Return the words as the Trainer divides them: at blanks, and at nothing else."""
    return item.value.split() if isinstance(item.value, str) and truth(item.value) is None else _words(item)


def _version(part: ConfigPart, job: ConfigContext) -> int | None:
    block = part.value("fsdp_config")
    inner = block if isinstance(block, Mapping) else {}
    for name in ("version", "fsdp_version"):
        if name in inner:
            return number(inner[name].value)
    return default_version(job)


def checkpointing(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """The Trainer's and FSDP's activation checkpointing exclude one another."""
    item = part.first("activation_checkpointing", "gradient_checkpointing")
    if item is None or truth(item.value) is not True:
        return
    for other in (*job.of("accelerate"), *job.of("fsdp-config")):
        if other.owner and other.source is not part.source:
            continue
        block = fsdp_of(other, job)
        theirs = None if block is None else block.get("activation_checkpointing")
        if block is not None and theirs is not None and truth(theirs.value) is True:
            key = block.typed("activation_checkpointing")
            name = "activation_checkpointing" if "activation_checkpointing" in part.root else "gradient_checkpointing"
            yield also(hit("config.fsdp-checkpointing-twice", part, item, argument=name, key=key), other, theirs)


def saving(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """What cannot be combined when only the model is saved, or the batch size is searched for."""
    only, best = part.get("save_only_model"), part.get("load_best_model_at_end")
    sharded = _fsdp_value(part) is not None or part.value("deepspeed") not in (None, UNKNOWN)
    sharded = sharded or any(o.value("distributed_type") in ("FSDP", "DEEPSPEED") for o in job.of("accelerate"))
    if only is not None and truth(only.value) and best is not None and truth(best.value) and sharded:
        yield hit("config.save-only-model-best", part, only, best)
    if only is not None and truth(only.value):
        for other in (*job.of("accelerate"), *job.of("fsdp-config")):
            block = fsdp_of(other, job)
            kind = None if block is None else block.get("state_dict_type")
            if block is not None and kind is not None and str(kind.value).upper() == "SHARDED_STATE_DICT":
                yield also(
                    hit("config.save-only-model-sharded", part, only, key=block.typed("state_dict_type")), other, kind
                )
    find = part.get("auto_find_batch_size")
    if find is not None and truth(find.value):
        for other in job.of("deepspeed"):
            if stage_of(other) == 3:
                yield also(
                    hit("config.find-batch-size-zero3", part, find), other, other.get("zero_optimization", "stage")
                )


def accumulation(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Accumulation is set in two places, and one of them loses or both stop the run."""
    item = part.get("gradient_accumulation_steps")
    steps = 1 if item is None else number(item.value)
    inner = part.get("accelerator_config", "gradient_accumulation_kwargs", "num_steps")
    if inner is not None and item is not None and (steps or 1) > 1:
        yield hit("config.accumulation-in-accelerator-config", part, item, inner, steps=steps, other=inner.shown)
    for other in job.of("accelerate"):
        theirs = other.get("deepspeed_config", "gradient_accumulation_steps")
        if other.value("distributed_type") != "DEEPSPEED" or theirs is None or item is None:
            continue
        if steps is not None and number(theirs.value) is not None and number(theirs.value) != steps:
            first = hit(
                "config.accumulation-differs", part, item, steps=steps, other=theirs.shown, file=other.source.base
            )
            yield also(first, other, theirs)


def deepspeed(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """DeepSpeed's file and the arguments must say the same, where an argument is not set by its default."""
    for other in job.of("deepspeed"):
        if other.owner and (other.source is not part.source or other.owner != (part.name or part.kind)):
            continue
        own_defaults = any(one.kind == "trl" and one.source is part.source for one in job.parts)
        named = _names(part, other) and not own_defaults
        for key, (argument, default) in _PAIRS.items():
            theirs, mine = other.get(*key.split(".")), _argument(part, argument, default if named else None)
            if theirs is None or mine is None or theirs.value in ("auto", None) or _same(theirs.value, mine.value):
                continue
            if number(mine.value) in {None, 0, -1} and key.startswith("scheduler.params.") and "steps" in key:
                continue  # a share of all steps, or "until the epochs are over"
            yield also(_differs(part, mine, key, argument, theirs), other, theirs)
        for key in ("fp16", "bf16"):
            theirs, given = other.get(key, "enabled"), part.get(key)
            if (
                theirs is None
                or not isinstance(theirs.value, bool)
                or (given is None and ("**" in part.root or own_defaults))
            ):
                continue
            asked = False if given is None else truth(given.value)
            if asked is not None and asked != theirs.value and (part.kind != "axolotl" or given is not None):
                shown = ConfigValue(value=asked, line=part.line if given is None else given.line, text=str(asked))
                yield also(_differs(part, shown, f"{key}.enabled", key, theirs), other, theirs)
        yield from _batch(part, other, job)


def _names(part: ConfigPart, other: ConfigPart) -> bool:
    """Whether the arguments are whole and say that they are used with this file."""
    item = part.get("deepspeed")
    if item is None or "**" in part.root or part.kind == "axolotl":
        return False
    return bool(other.owner) or (isinstance(item.value, str) and item.value.rpartition("/")[2] == other.source.base)


def _argument(part: ConfigPart, name: str, default: float | None) -> ConfigValue | None:
    """Return an argument as it is written, or as it is by default."""
    item = part.get(_AXOLOTL.get(name, name) if part.kind == "axolotl" else name)
    if item is not None or default is None:
        return item
    return ConfigValue(value=default, line=part.line, text=str(default))


def _batch(part: ConfigPart, other: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """`train_batch_size` is what each rank takes at once, times accumulation, times the ranks."""
    theirs = other.get("train_batch_size")
    default = (8, 1) if _names(part, other) else (None, None)
    micro, steps = (
        _argument(part, name, value)
        for name, value in zip(("per_device_train_batch_size", "gradient_accumulation_steps"), default, strict=True)
    )
    total = None if theirs is None else number(theirs.value)
    each = [None if item is None else number(item.value) for item in (micro, steps)]
    if theirs is None or total is None or micro is None or None in each or 0 in each:
        return
    per_rank = (each[0] or 1) * (each[1] or 1)
    ranks = world_size(job)
    if total != per_rank * ranks if ranks else total % per_rank:
        shown = ConfigValue(value=per_rank, line=micro.line, text=f"{each[0]} × {each[1]} × {ranks or 'N'}")
        argument = "per_device_train_batch_size × gradient_accumulation_steps × ranks"
        yield also(_differs(part, shown, "train_batch_size", argument, theirs), other, theirs)


def _differs(part: ConfigPart, mine: ConfigValue, key: str, argument: str, theirs: ConfigValue) -> ConfigFinding:
    return hit(
        "config.deepspeed-differs-from-arguments", part, mine, key=key, value=theirs.shown, argument=argument,
        other=mine.shown,
    )  # fmt: skip


def _same(theirs: object, mine: object) -> bool:
    try:
        return theirs is UNKNOWN or mine is UNKNOWN or float(str(theirs)) == float(str(mine))
    except (TypeError, ValueError):
        return True


def accelerator(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """`Accelerator(gradient_accumulation_steps=…)` and Accelerate's file: the file wins without a word."""
    item = part.get("gradient_accumulation_steps")
    if part.name != "Accelerator" or item is None or number(item.value) is None:
        return
    for other in job.of("accelerate"):
        theirs = other.get("deepspeed_config", "gradient_accumulation_steps")
        if other.value("distributed_type") != "DEEPSPEED" or theirs is None:
            continue
        if number(theirs.value) not in {None, number(item.value)}:
            first = hit(
                "config.accumulation-overridden", part, item, steps=item.shown, other=theirs.shown,
                file=other.source.base,
            )  # fmt: skip
            yield also(first, other, theirs)


RULES = (
    *(
        ConfigRule(ids=ids, kinds=("training-arguments",), check=check)
        for ids, check in (
            (("config.arguments-fp16-and-bf16", "config.precision-overridden"), precision),
            (
                (
                    "config.fsdp-config-without-fsdp",
                    "config.fsdp-legacy-words",
                    "config.fsdp-words-no-auto-wrap",
                    "config.fsdp1-strategy-lost-trainer",
                    "config.fsdp2-no-such-strategy",
                    "config.fsdp-and-deepspeed",
                    "config.trainer-unknown-value",
                ),
                fsdp,
            ),
            (("config.fsdp-checkpointing-twice",), checkpointing),
            (
                (
                    "config.save-only-model-best",
                    "config.save-only-model-sharded",
                    "config.find-batch-size-zero3",
                ),
                saving,
            ),
            (("config.accumulation-in-accelerator-config", "config.accumulation-differs"), accumulation),
        )
    ),
    ConfigRule(
        ids=("config.deepspeed-differs-from-arguments",), kinds=("training-arguments", "axolotl"), check=deepspeed
    ),
    ConfigRule(ids=("config.accumulation-overridden",), kinds=("call",), check=accelerator),
)
