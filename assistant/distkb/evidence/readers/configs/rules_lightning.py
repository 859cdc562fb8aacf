"""Rules for Lightning: the Trainer's strategy, precision and devices, and the strategy classes."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from distkb.evidence.readers.configs import known
from distkb.evidence.readers.configs.item import UNKNOWN, ConfigPart, ConfigValue, number, truth
from distkb.evidence.readers.configs.job import ConfigContext, ConfigFinding, ConfigRule, also, hit, short

_FSDP_PRECISIONS = frozenset({"32-true", "16-true", "bf16-true", "16-mixed", "bf16-mixed"})
_ALIASES = {
    "16": "16-mixed", "bf16": "bf16-mixed", "32": "32-true", "64": "64-true", "16-mixed": "16-mixed",
    "bf16-mixed": "bf16-mixed", "None": "32-true", "null": "32-true",
}  # fmt: skip


def strategy_name(part: ConfigPart) -> str:
    """Return the family of a Trainer's strategy: fsdp, ddp, deepspeed, or the word as written."""
    item = part.get("strategy")
    if item is None:
        return ""
    text = item.text if not isinstance(item.value, str) else item.value
    lowered = text.lower()
    for family in ("deepspeed", "fsdp", "ddp", "modelparallel"):
        if family in lowered:
            return family
    return lowered if isinstance(item.value, str) else ""


def _class_of(part: ConfigPart, job: ConfigContext) -> ConfigPart | None:
    """Return the strategy class that a Trainer of the same file is given, if it can be told."""
    found = [other for other in job.of("lightning-strategy") if other.source is part.source]
    item = part.get("strategy")
    if item is None or isinstance(item.value, str):
        return None
    named = [other for other in found if item.text.rpartition(".")[2].startswith(other.name) or other.name in item.text]
    return named[0] if len(named) == 1 else found[0] if len(found) == 1 else None


def strategy(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """A name that is not registered, FSDP without a GPU, or one device for a distributed strategy."""
    del job
    item = part.get("strategy")
    own = any("StrategyRegistry" in line for line in part.source.lines)
    known_name = item is None or not isinstance(item.value, str) or item.value.lower() in known.LIGHTNING_STRATEGIES
    if item is not None and not known_name and not own:
        near = get_close_matches(item.value.lower(), known.LIGHTNING_STRATEGIES, 1, 0.5)
        yield hit("config.lightning-bad-strategy", part, item, value=short(item.value), near=(near or ["ddp"])[0])
    family, accelerator = strategy_name(part), part.get("accelerator")
    if family in {"fsdp", "deepspeed"} and accelerator is not None and accelerator.value == "cpu":
        yield hit("config.lightning-needs-gpu", part, item, accelerator, strategy=family)
    devices, nodes = part.get("devices"), part.get("num_nodes")
    alone = devices is not None and devices.value == 1 and (nodes is None or number(nodes.value) == 1)
    if family in {"ddp", "fsdp", "deepspeed"} and alone:
        yield hit("config.lightning-one-device", part, devices, item, strategy=family)


def precision(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """A precision that FSDP does not take, or one that is also set in the strategy."""
    item = part.get("precision")
    if item is None or item.value is UNKNOWN or strategy_name(part) != "fsdp":
        return
    name = _ALIASES.get(item.shown, item.shown)
    if name not in _FSDP_PRECISIONS:
        yield hit("config.lightning-fsdp-precision", part, item, value=short(item.shown))
    cls = _class_of(part, job)
    mixed = None if cls is None else cls.get("mixed_precision")
    if cls is not None and mixed is not None and mixed.value is not None:
        yield also(hit("config.lightning-precision-twice", part, item, value=short(item.shown)), cls, mixed)


def clipping(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """FSDP refuses to clip by norm through the Trainer."""
    del job
    item = part.get("gradient_clip_val")
    if item is None or item.value in (None, 0) or item.value is UNKNOWN or strategy_name(part) != "fsdp":
        return
    algorithm = part.value("gradient_clip_algorithm")
    if algorithm in {None, "norm"}:
        yield hit("config.lightning-fsdp-clip-norm", part, item, part.get("strategy"), value=item.shown)


def accumulation(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Lightning refuses a DeepSpeed file that sets accumulation: the Trainer does."""
    if strategy_name(part) != "deepspeed":
        return
    for other in job.of("deepspeed"):
        steps = other.get("gradient_accumulation_steps")
        if steps is not None and steps.value != "auto":
            yield also(hit("config.lightning-deepspeed-accumulation", part, part.get("strategy")), other, steps)


def sampler(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Without Lightning's sampler every rank sees every sample, unless the script divides the data itself."""
    del job
    item = part.get("use_distributed_sampler")
    if item is not None and truth(item.value) is False and strategy_name(part) in {"ddp", "fsdp", "deepspeed"}:
        yield hit("config.lightning-no-sampler", part, item)


def slurm(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Under Slurm, devices and num_nodes must be what the job was given."""
    for sbatch in job.of("sbatch"):
        tasks = sbatch.first("ntasks-per-node", "tasks-per-node")
        devices, nodes = part.get("devices"), part.get("num_nodes")
        count = None if devices is None else number(devices.value)
        under_srun = any(
            wrapper.name == "srun" for command in job.of("command") for wrapper in command.wrappers
        )  # Slurm's environment is only looked at there
        if not under_srun:
            continue
        if tasks is not None and count is not None and count > 0 and number(tasks.value) not in {None, count}:
            yield also(_tasks(part, devices, tasks, count), sbatch, tasks)
        total = sbatch.get("ntasks")
        if tasks is None and total is not None and (number(total.value) or 1) > 1:
            yield also(hit("config.lightning-slurm-ntasks", part, n=total.shown), sbatch, total)
        given = sbatch.get("nodes")
        asked = 1 if nodes is None else number(nodes.value)
        have = None if given is None else number(given.value)
        if have is not None and asked is not None and have != asked:
            yield also(hit("config.lightning-slurm-nodes", part, nodes, nodes=have, num_nodes=asked), sbatch, given)


def _tasks(part: ConfigPart, devices: ConfigValue | None, tasks: ConfigValue, count: int) -> ConfigFinding:
    return hit("config.lightning-slurm-tasks", part, devices, devices=count, tasks=tasks.shown)


def classes(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Arguments of a strategy class that another argument switches off."""
    del job
    if part.name == "FSDPStrategy" and "auto_wrap_policy" not in part.root and "**" not in part.root:
        yield hit("config.lightning-fsdp-no-wrap-policy", part)
    config = part.get("config")
    if part.name == "DeepSpeedStrategy" and config is not None and config.value is not None:
        lost = [name for name in part.root if name not in known.STRATEGY_OWN and name not in {"config", "**"}]
        if lost:
            yield hit("config.lightning-deepspeed-ignored", part, *(part.get(name) for name in lost), config,
                      names=", ".join(lost))  # fmt: skip


RULES = (
    *(
        ConfigRule(ids=ids, kinds=("lightning-trainer",), check=check)
        for ids, check in (
            (
                (
                    "config.lightning-bad-strategy",
                    "config.lightning-needs-gpu",
                    "config.lightning-one-device",
                ),
                strategy,
            ),
            (("config.lightning-fsdp-precision", "config.lightning-precision-twice"), precision),
            (("config.lightning-fsdp-clip-norm",), clipping),
            (("config.lightning-deepspeed-accumulation",), accumulation),
            (("config.lightning-no-sampler",), sampler),
            (
                (
                    "config.lightning-slurm-tasks",
                    "config.lightning-slurm-ntasks",
                    "config.lightning-slurm-nodes",
                ),
                slurm,
            ),
        )
    ),
    ConfigRule(
        ids=("config.lightning-fsdp-no-wrap-policy", "config.lightning-deepspeed-ignored"),
        kinds=("lightning-strategy",),
        check=classes,
    ),
)
