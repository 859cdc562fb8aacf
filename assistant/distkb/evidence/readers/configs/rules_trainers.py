"""Rules for values of DeepSpeed's file, for its launcher's hostfile, and for clipping in Lightning."""

from __future__ import annotations

import re
from collections.abc import Iterator

from distkb.evidence.readers.configs.item import Item, Part, number
from distkb.evidence.readers.configs.job import Hit, Job, Rule, hit

_HOST = re.compile(r"(\S{1,255})[ \t]{1,40}slots=(\d{1,9})")


def _shown(item: Item) -> str:
    return "…" if isinstance(item.value, (dict, tuple)) else item.shown[:60]


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
