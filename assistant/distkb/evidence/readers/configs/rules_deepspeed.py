"""Rules for DeepSpeed's own configuration: arithmetic, precision, offload, and "auto"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from distkb.evidence.readers.configs import known
from distkb.evidence.readers.configs.item import ConfigPart, ConfigValue, number, truth, walk
from distkb.evidence.readers.configs.job import (
    ConfigContext,
    ConfigFinding,
    ConfigRule,
    hit,
    is_pipelined,
    short,
    world_size,
)

_MODEL_PARALLEL = re.compile(
    r"--?(?:\w+[-_])?(?:(?:model|tensor|pipeline|pipe|sequence|context)[-_]\w*parallel|tp|pp|sp|cp)\b"
)
_TRAIN, _MICRO, _STEPS = "train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"


def stage_of(part: ConfigPart) -> int:
    """Return the ZeRO stage; 0 where none is set."""
    return number(part.value("zero_optimization", "stage")) or 0


def batch(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """train_batch_size = micro batch × accumulation × ranks must hold exactly."""
    items = [part.get(name) for name in (_TRAIN, _MICRO, _STEPS)]
    train, micro, steps = (None if item is None else number(item.value) for item in items)
    if part.get("tensor_parallel") is not None or part.get("sequence_parallel_size") is not None:
        return
    ranks = None if _is_model_parallel(job) else world_size(job)
    if train is None or train < 1 or (micro is not None and micro < 1):
        return
    if micro is None:
        if not _is_given(items[1]) and train % ((steps or 1) * (ranks or 1)):
            yield hit(
                "config.deepspeed-batch-indivisible", part, *items,
                train=train, micro="micro batch", steps=steps or 1, per_rank=(steps or 1) * (ranks or 1),
            )  # fmt: skip
        return
    per_rank = micro * (steps or 1)
    if steps is not None and ranks is not None and train != per_rank * ranks:
        yield hit(
            "config.deepspeed-batch-mismatch", part, *items,
            train=train, micro=micro, steps=steps, ranks=ranks, product=per_rank * ranks,
        )  # fmt: skip
    elif train % per_rank or (ranks is not None and train % (micro * ranks)):
        yield hit(
            "config.deepspeed-batch-indivisible", part, *items,
            train=train, micro=micro, steps=steps if steps is not None else "accumulation", per_rank=per_rank,
        )  # fmt: skip


def _is_given(item: ConfigValue | None) -> bool:
    """Whether a number may be there: written, and not left to whoever fills the file in."""
    return item is not None and item.value is not None


def _is_model_parallel(job: ConfigContext) -> bool:
    """Whether a script is told to cut the model, so that fewer ranks than all share the batch."""
    words = [word.text for command in job.of("command") for word in command.words]
    return is_pipelined(job) or any(_MODEL_PARALLEL.match(word) for word in words)


def precision(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """fp16 and bf16 exclude one another."""
    del job
    bf16 = part.get("bf16", "enabled") or part.get("bfloat16", "enabled")
    fp16 = part.get("fp16", "enabled")
    if fp16 is not None and bf16 is not None and fp16.value is True and bf16.value is True:
        yield hit("config.deepspeed-fp16-and-bf16", part, fp16, bf16)


def zero(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """The stage, and what may be offloaded in it."""
    del job
    item = part.get("zero_optimization", "stage")
    stage = stage_of(part)
    if item is not None and number(item.value) not in {0, 1, 2, 3} and item.value != "auto":
        yield hit("config.deepspeed-bad-stage", part, item, value=item.shown)
        return
    param = part.get("zero_optimization", "offload_param", "device")
    if param is not None and param.value in ("cpu", "nvme") and stage != 3 and (item is None or item.value != "auto"):
        yield hit("config.deepspeed-offload-param-stage", part, param, item, device=param.value, stage=stage)
    for block in ("offload_param", "offload_optimizer"):
        device = part.get("zero_optimization", block, "device")
        path = part.value("zero_optimization", block, "nvme_path")
        if device is not None and device.value == "nvme" and path is None:
            yield hit("config.deepspeed-nvme-path", part, device, block=block)
    save = part.get("zero_optimization", "stage3_gather_16bit_weights_on_model_save")
    save = save or part.get("zero_optimization", "stage3_gather_fp16_weights_on_model_save")
    if stage == 3 and (save is None or truth(save.value) is False):
        yield hit("config.deepspeed-zero3-save", part, save or item)


def both_names(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """A deprecated key and the one that replaces it may not stand together."""
    del job
    for old, new in (("cpu_offload", "offload_optimizer"), ("cpu_offload_param", "offload_param")):
        first, second = part.get("zero_optimization", old), part.get("zero_optimization", new)
        if first is not None and second is not None:
            yield hit("config.deepspeed-old-and-new-key", part, first, second, old=old, new=new)


def clipping(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """The optimizer does not clip: the engine does."""
    del job
    item = part.get("optimizer", "params", "max_grad_norm")
    if item is not None and item.value != "auto":
        yield hit("config.deepspeed-max-grad-norm", part, item, value=item.shown)


def auto(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """The word `auto` needs Accelerate or the Trainer, and only in some keys."""
    found = [(".".join(path), item) for path, item in walk(part.root) if item.value == "auto"]
    if not found:
        return
    raw = _raw_use(part, job)
    if raw is not None:
        name, item = _most_telling(found)
        first = hit("config.deepspeed-auto-without-hf", part, item, key=name, n=len(found), how=raw)
        yield first
        return
    for name, item in found:
        if name not in known.AUTO_TRAINER and name.partition(".")[0] not in known.AUTO_OWN:
            yield hit("config.deepspeed-auto-not-filled", part, item, key=name)


def _raw_use(part: ConfigPart, job: ConfigContext) -> str | None:
    """How the file reaches DeepSpeed without anything that fills in "auto", if it does."""
    called = any(call.name == "deepspeed.initialize" for call in job.of("call"))
    if (part.owner == "deepspeed.initialize" or called) and not job.uses_hf:
        return "deepspeed.initialize(config=…)"
    for command in job.of("command"):
        words = [str(word.value) for word in command.words]
        for flag, value in pairwise(words):
            if flag == "--deepspeed_config" and value.rpartition("/")[2] == part.source.base and not job.uses_hf:
                return f"--deepspeed_config {short(value)}"
    return None


def _most_telling(found: list[tuple[str, ConfigValue]]) -> tuple[str, ConfigValue]:
    return next(((name, item) for name, item in found if name in {_MICRO, _TRAIN}), found[0])


def optimizer(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Optimizer and scheduler are defined in the file and again in the script."""
    for call in job.of("call"):
        if call.name != "deepspeed.initialize":
            continue
        for name, argument in (("optimizer", "optimizer"), ("scheduler", "lr_scheduler")):
            item, given = part.get(name), call.get(argument)
            if item is None or not isinstance(item.value, Mapping) or given is None or given.value is None:
                continue
            if part.owner == "deepspeed.initialize" or _names(call, part):
                yield hit("config.deepspeed-defined-twice", part, item, name=name, argument=argument)


def _names(call: ConfigPart, part: ConfigPart) -> bool:
    return any(part.source.base in item.text for item in call.root.values() if item.text)


def comments(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """DeepSpeed itself reads a file with comments; the Trainer and Accelerate read it as plain JSON."""
    if part.source.name.endswith(".json") and job.uses_hf and not part.owner:
        lines = part.source.lines
        at = next((n for n, line in enumerate(lines, 1) if line.lstrip().startswith(("//", "#", "/*"))), None)
        if at is not None:
            yield hit("config.deepspeed-refuses", part, at, tool="json.load()", key=short(lines[at - 1].strip()))


RULES = tuple(
    ConfigRule(ids=ids, kinds=("deepspeed",), check=check)
    for ids, check in (
        (("config.deepspeed-batch-mismatch", "config.deepspeed-batch-indivisible"), batch),
        (("config.deepspeed-fp16-and-bf16",), precision),
        (
            (
                "config.deepspeed-bad-stage",
                "config.deepspeed-offload-param-stage",
                "config.deepspeed-nvme-path",
                "config.deepspeed-zero3-save",
            ),
            zero,
        ),
        (("config.deepspeed-old-and-new-key",), both_names),
        (("config.deepspeed-max-grad-norm",), clipping),
        (("config.deepspeed-auto-without-hf", "config.deepspeed-auto-not-filled"), auto),
        (("config.deepspeed-defined-twice",), optimizer),
        (("config.deepspeed-refuses",), comments),
    )
)
