"""Rules for Accelerate's own file: what `accelerate launch` refuses, overrides or passes over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from distkb.evidence.readers.configs import known
from distkb.evidence.readers.configs.item import UNKNOWN, ConfigPart, number, truth
from distkb.evidence.readers.configs.job import ConfigContext, ConfigFinding, ConfigRule, accelerate_size, hit, short

_PRECISIONS = ("no", "fp16", "bf16", "fp8")
_ON_GPUS = frozenset({"MULTI_GPU", "FSDP", "DEEPSPEED", "MEGATRON_LM"})
_SECTIONS = {"fsdp_config": "FSDP", "deepspeed_config": "DEEPSPEED", "megatron_lm_config": "MEGATRON_LM"}


def _is_cluster(part: ConfigPart) -> bool:
    return part.value("compute_environment") in (None, "LOCAL_MACHINE")


def _type(part: ConfigPart) -> str:
    value = part.value("distributed_type")
    return value if isinstance(value, str) else "NO" if value is False else ""


def distributed_type(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """The type is missing, or is no type that Accelerate knows."""
    del job
    item = part.get("distributed_type")
    if item is None:
        yield hit("config.accelerate-no-distributed-type", part)
    elif isinstance(item.value, str) and item.value not in known.DISTRIBUTED_TYPES and _is_cluster(part):
        near = get_close_matches(item.value.upper(), known.DISTRIBUTED_TYPES, 1, 0.5)
        yield hit(
            "config.accelerate-bad-distributed-type",
            part,
            item,
            value=short(item.value),
            near=(near or ["MULTI_GPU"])[0],
        )


def yaml_no(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """An unquoted `no` is a boolean to YAML, and the launcher then calls a text's method on it."""
    del job
    item = part.get("mixed_precision")
    if item is not None and isinstance(item.value, bool):
        yield hit("config.accelerate-precision-boolean", part, item, value=item.shown)
    elif item is not None and isinstance(item.value, str) and item.value.lower() not in _PRECISIONS:
        yield hit("config.accelerate-bad-precision", part, item, value=short(item.value))


def processes(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """The number of processes is missing, is one, or does not fit the type and the machines."""
    kind, size = _type(part), accelerate_size(part)
    item = part.get("num_processes")
    given = any(command.name == "accelerate" and command.get("num_processes") for command in job.of("command"))
    if not _is_cluster(part) or kind in {"XLA", "TPU"}:
        return
    if item is None and kind not in {"NO", ""} and not given:
        yield hit("config.accelerate-num-processes-missing", part, part.get("distributed_type"), type=kind)
    if size.processes is None or given:
        return
    if kind == "NO" and (size.processes > 1 or (size.nodes or 1) > 1):
        yield hit("config.accelerate-not-distributed", part, part.get("distributed_type"), item, n=size.processes)
    elif kind in _ON_GPUS and size.processes == 1:
        yield hit("config.accelerate-one-process", part, item, type=kind)
    nodes = size.nodes or 1
    if nodes > 1 and size.processes >= 0 and size.processes % nodes:
        yield hit(
            "config.accelerate-processes-per-machine", part, item, part.get("num_machines"),
            n=size.processes, machines=nodes, per_machine=size.processes // nodes, total=size.processes * nodes,
        )  # fmt: skip


def devices(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """The listed GPUs are too few for the processes of one machine, or are not a text."""
    del job
    item, size = part.get("gpu_ids"), accelerate_size(part)
    if item is None or item.value in (None, "all") or item.value is UNKNOWN or not _is_cluster(part):
        return
    if not isinstance(item.value, str):
        yield hit("config.accelerate-gpu-ids-not-text", part, item, value=item.shown)
        return
    ids = [word for word in item.value.split(",") if word.strip()]
    if size.per_node is not None and size.per_node > len(ids):
        yield hit(
            "config.accelerate-too-few-gpus", part, item, part.get("num_processes"),
            gpus=len(ids), n=size.per_node, ids=short(item.value),
        )  # fmt: skip


def ignored(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """A section belongs to another type than the one that is set, and `use_cpu` does not reach GPU launches."""
    kind = _type(part)
    by_flag = {
        name
        for command in job.of("command")
        if command.name == "accelerate"
        for name, flag in (("fsdp_config", "use_fsdp"), ("deepspeed_config", "use_deepspeed"))
        if flag in command.root
    }
    for name, wanted in _SECTIONS.items():
        item = part.get(name)
        if item is None or not isinstance(item.value, Mapping) or not item.value:
            continue
        if kind not in {wanted, ""} and name not in by_flag:
            yield hit(
                "config.accelerate-section-ignored", part, item, part.get("distributed_type"),
                section=name, type=kind, wanted=wanted,
            )  # fmt: skip
    cpu = part.get("use_cpu")
    if cpu is not None and truth(cpu.value) and kind in _ON_GPUS:
        yield hit("config.accelerate-use-cpu", part, cpu, part.get("distributed_type"), type=kind)


def machines(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Several machines without a common address, or two files that claim one rank."""
    nodes = accelerate_size(part).nodes or 1
    if nodes < 2 or not _is_cluster(part) or _type(part) in {"XLA", "TPU"}:
        return
    commands = [command for command in job.of("command") if command.name == "accelerate"]
    launcher = part.value("deepspeed_config", "deepspeed_multinode_launcher")
    by_ssh = _type(part) == "DEEPSPEED" and launcher != "standard"
    if part.get("main_process_ip") is None and not any(c.get("main_process_ip") for c in commands) and not by_ssh:
        yield hit("config.accelerate-main-ip-missing", part, part.get("num_machines"), machines=nodes)
    if any(command.get("machine_rank") for command in commands):
        return
    rank = number(part.value("machine_rank")) or 0
    if rank >= nodes:
        own = part.get("machine_rank")
        yield hit("config.accelerate-no-such-machine", part, own, rank=rank, machines=nodes, last=nodes - 1)
        return
    twins = [
        other
        for other in job.of("accelerate")
        if other is not part
        and (number(other.value("machine_rank")) or 0) == rank
        and other.value("main_process_ip") == part.value("main_process_ip")
        and (accelerate_size(other).nodes or 1) == nodes
    ]
    if twins:
        first = hit(
            "config.accelerate-same-machine-rank", part, part.get("machine_rank"),
            rank=rank, machines=nodes, other=twins[0].source.base,
        )  # fmt: skip
        yield first
    elif len(job.of("accelerate")) == 1 and not by_ssh:
        yield hit("config.accelerate-machine-rank", part, part.get("machine_rank"), rank=rank, machines=nodes)


def deepspeed_file(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Beside `deepspeed_config_file`, some keys make Accelerate stop."""
    del job
    block = part.value("deepspeed_config")
    if _type(part) != "DEEPSPEED" or not isinstance(block, Mapping) or "deepspeed_config_file" not in block:
        return
    clash = [name for name in known.FILE_EXCLUDES if name in block]
    lines = [block[name] for name in clash]
    precision = part.get("mixed_precision")
    if precision is not None and precision.value is not None:
        clash.append("mixed_precision")
        lines.append(precision)
    if clash:
        yield hit(
            "config.accelerate-file-and-keys", part, *lines,
            keys=", ".join(clash), file=short(block["deepspeed_config_file"].shown),
        )  # fmt: skip


def parallelism(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """The sizes of the mesh must multiply to the number of processes, and need FSDP2."""
    del job
    block = part.value("parallelism_config")
    if not isinstance(block, Mapping) or not block:
        return
    sizes = {name: number(item.value) for name, item in block.items() if name.endswith("_size")}
    product = 1
    for size in sizes.values():
        product *= size or 1
    by_deepspeed = (sizes.get("parallelism_config_sp_size") or 1) > 1  # which makes those groups itself, of any size
    total = None if by_deepspeed else accelerate_size(part).processes
    if total and product > 1 and product != total and None not in sizes.values():
        shown = " × ".join(f"{name.removeprefix('parallelism_config_')}={size}" for name, size in sizes.items())
        yield hit(
            "config.parallelism-size", part, part.get("parallelism_config"), part.get("num_processes"),
            sizes=shown, product=product, n=total,
        )  # fmt: skip
    fsdp = part.value("fsdp_config")
    version = number(fsdp["fsdp_version"].value) if isinstance(fsdp, Mapping) and "fsdp_version" in fsdp else 1
    if product > 1 and _type(part) == "FSDP" and version == 1:
        yield hit("config.parallelism-needs-fsdp2", part, part.get("parallelism_config"))


RULES = tuple(
    ConfigRule(ids=ids, kinds=("accelerate",), check=check)
    for ids, check in (
        (("config.accelerate-no-distributed-type", "config.accelerate-bad-distributed-type"), distributed_type),
        (("config.accelerate-precision-boolean", "config.accelerate-bad-precision"), yaml_no),
        (
            (
                "config.accelerate-num-processes-missing",
                "config.accelerate-not-distributed",
                "config.accelerate-one-process",
                "config.accelerate-processes-per-machine",
            ),
            processes,
        ),
        (("config.accelerate-gpu-ids-not-text", "config.accelerate-too-few-gpus"), devices),
        (("config.accelerate-section-ignored", "config.accelerate-use-cpu"), ignored),
        (
            (
                "config.accelerate-main-ip-missing",
                "config.accelerate-same-machine-rank",
                "config.accelerate-machine-rank",
                "config.accelerate-no-such-machine",
            ),
            machines,
        ),
        (("config.accelerate-file-and-keys",), deepspeed_file),
        (("config.parallelism-size", "config.parallelism-needs-fsdp2"), parallelism),
    )
)
