"""What the configurations say about the job as a whole, and which intake questions that answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from distkb.evidence.readers.configs.item import ConfigPart, number, truth
from distkb.evidence.readers.configs.job import ConfigContext, accelerate_size, command_size, fsdp_of, world_size
from distkb.evidence.readers.configs.placement import TORCHRUN
from distkb.evidence.readers.configs.rules_launch import is_many_nodes
from distkb.evidence.readers.configs.rules_lightning import strategy_name

_LAUNCHERS = {"torchrun": "torchrun", "torch.distributed.launch": "torchrun", "accelerate": "accelerate",
              "deepspeed": "deepspeed"}  # fmt: skip


def facts_of(job: ConfigContext) -> dict[str, Any]:
    """Return plain facts by name; `implies` are intake facts as `fact=value`, at most one value for each fact."""
    files: dict[str, list[str]] = {}
    for part in job.parts:
        kinds = files.setdefault(part.source.name, [])
        if part.kind not in kinds:
            kinds.append(part.kind)
    facts: dict[str, Any] = {"configs": [{"path": name, "kinds": kinds} for name, kinds in files.items()]}
    found: dict[str, set[Any]] = {}
    for part in job.parts:
        for name, value in _facts(part, job).items():
            if value is not None:
                found.setdefault(name, set()).add(value)
    facts |= {name: next(iter(values)) for name, values in found.items() if len(values) == 1}
    differing = {name: sorted(map(str, values)) for name, values in found.items() if len(values) > 1}
    if differing:
        facts["differing"] = differing
    total = world_size(job)
    if total is not None:
        facts["world_size"] = total
    facts["implies"] = [f"{name}={facts[name]}" for name in ("parallelism", "launcher", "nodes") if name in facts]
    return facts


def _facts(part: ConfigPart, job: ConfigContext) -> Mapping[str, Any]:
    if part.kind == "accelerate":
        return _accelerate(part, job)
    if part.kind == "fsdp-config":
        return _fsdp(part, job)
    read = _READERS.get(part.kind)
    return read(part) if read is not None else {}


def _sbatch(part: ConfigPart) -> dict[str, Any]:
    nodes = number(part.value("nodes"))
    return {"nodes": None if nodes is None else "multi" if nodes > 1 else "single"}


def _trainer(part: ConfigPart) -> dict[str, Any]:
    family = strategy_name(part)
    return {"parallelism": {"ddp": "ddp", "fsdp": "fsdp1"}.get(family), "strategy": family or None}


def _accelerate(part: ConfigPart, job: ConfigContext) -> dict[str, Any]:
    kind, size = part.value("distributed_type"), accelerate_size(part)
    precision = part.value("mixed_precision")
    facts: dict[str, Any] = {
        "launcher": "accelerate",
        "distributed_type": kind if isinstance(kind, str) else None,
        "nodes": None if size.nodes is None else "multi" if size.nodes > 1 else "single",
        "precision": precision if isinstance(precision, str) else None,
    }
    if kind == "MULTI_GPU":
        facts["parallelism"] = "ddp"
    elif kind == "DEEPSPEED" and not part.get("deepspeed_config", "deepspeed_config_file"):
        stage = part.value("deepspeed_config", "zero_stage")
        facts |= _stage(2 if stage is None else number(stage))
        facts["accumulation"] = number(part.value("deepspeed_config", "gradient_accumulation_steps"))
    return facts | _fsdp(part, job)


def _fsdp(part: ConfigPart, job: ConfigContext) -> dict[str, Any]:
    fsdp = fsdp_of(part, job)
    if fsdp is None:
        return {}
    written = {name: fsdp.get(name) for name in ("state_dict_type", "auto_wrap_policy", "reshard_after_forward")}
    facts: dict[str, Any] = {name: None if item is None else item.shown for name, item in written.items()}
    facts["fsdp_version"] = fsdp.version
    facts["parallelism"] = None if fsdp.version not in {1, 2} else f"fsdp{fsdp.version}"
    return facts


def _stage(stage: int | None) -> dict[str, Any]:
    names = {1: "zero1-2", 2: "zero1-2", 3: "zero3"}
    return {"zero_stage": stage, "parallelism": names.get(stage) if stage is not None else None}


def _deepspeed(part: ConfigPart) -> dict[str, Any]:
    facts = _stage(number(part.value("zero_optimization", "stage")))
    for name, key in (
        ("micro_batch", "train_micro_batch_size_per_gpu"),
        ("accumulation", "gradient_accumulation_steps"),
        ("train_batch", "train_batch_size"),
    ):
        facts[name] = number(part.value(key))
    for name in ("fp16", "bf16"):
        if truth(part.value(name, "enabled")) is True:
            facts["precision"] = name
    return facts


def _arguments(part: ConfigPart) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "micro_batch": number(part.value("per_device_train_batch_size")),
        "accumulation": number(part.value("gradient_accumulation_steps")),
    }
    for name in ("fp16", "bf16"):
        if truth(part.value(name)) is True:
            facts["precision"] = name
    return facts


def _command(part: ConfigPart) -> dict[str, Any]:
    size = command_size(part)
    many = size.nodes > 1 if size.nodes is not None else True if is_many_nodes(part) else None
    facts: dict[str, Any] = {"launcher": _LAUNCHERS.get(part.name), "per_node": size.per_node}
    if part.name == "python" and any(wrapper.name == "srun" for wrapper in part.wrappers):
        facts["launcher"] = "slurm"
    if part.name in TORCHRUN or part.name == "accelerate":
        facts["nodes"] = None if many is None else "multi" if many else "single"
    return facts


_READERS = {
    "deepspeed": _deepspeed,
    "training-arguments": _arguments,
    "command": _command,
    "sbatch": _sbatch,
    "lightning-trainer": _trainer,
}
