"""Rules that need more than one file's values: DeepSpeed's hostfile, a dict without a batch, clipping in Lightning."""

from __future__ import annotations

import re
from collections.abc import Iterator

from distkb.evidence.readers.configs.item import ConfigPart, ConfigValue
from distkb.evidence.readers.configs.job import ConfigContext, ConfigFinding, ConfigRule, hit

_HOST = re.compile(r"(\S{1,255})[ \t]{1,40}slots=(\d{1,9})")


def hostfile(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Lines that DeepSpeed's launcher refuses: each is `host slots=N`, and no host stands twice."""
    del job
    first: dict[str, int] = {}
    for number_of, text in enumerate(part.source.lines, 1):
        line = text.strip()
        if not line or line.startswith("#"):
            continue
        found = _HOST.match(line)
        item = ConfigValue(value=line, line=number_of, text=line)
        if found is None:
            yield hit("config.hostfile-bad-line", part, item, line=line[:80])
        elif found[1] in first:
            yield hit("config.hostfile-host-twice", part, item, host=found[1], line=first[found[1]])
        else:
            first[found[1]] = number_of


_BATCHES = ("train_batch_size", "train_micro_batch_size_per_gpu")


def no_batch(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """DeepSpeed is given a dict without a batch size, and nothing fills it in."""
    raw = part.owner == "deepspeed.initialize" or any(call.name == "deepspeed.initialize" for call in job.of("call"))
    if raw and not job.uses_hf and not any(part.get(name) for name in _BATCHES) and part.get("zero_optimization"):
        yield hit("config.deepspeed-no-batch", part, part.get("zero_optimization"))


def clip_by_value(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Lightning clips by value under no strategy that shards."""
    del job
    how, strategy = part.get("gradient_clip_algorithm"), part.get("strategy")
    if how is None or strategy is None or str(how.value).lower() != "value":
        return
    if re.search(r"(?i)deepspeed|fsdp", strategy.text or str(strategy.value)):
        yield hit("config.lightning-clip-by-value", part, how, strategy=strategy.shown[:60])


RULES = (
    ConfigRule(ids=("config.hostfile-bad-line", "config.hostfile-host-twice"), kinds=("hostfile",), check=hostfile),
    ConfigRule(ids=("config.deepspeed-no-batch",), kinds=("deepspeed",), check=no_batch),
    ConfigRule(ids=("config.lightning-clip-by-value",), kinds=("lightning-trainer",), check=clip_by_value),
)
