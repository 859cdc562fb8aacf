"""All configurations of one job together, and what they say about its size and its parallelism."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from distkb.catalogue.settings import Refusal, Setting
from distkb.evidence.readers.configs.item import ConfigPart, ConfigValue, Kind, number


class ConfigFinding(msgspec.Struct, frozen=True, kw_only=True):
    """One finding of a rule: its id, what fills its sentence, and the lines that show it."""

    id: str
    values: dict[str, str]
    places: tuple[tuple[ConfigPart, int], ...]
    commands: tuple[str, ...] = ()
    """Commands that repair it, made from the one that was read."""


def hit(identity: str, part: ConfigPart, *items: ConfigValue | int | None, **values: object) -> ConfigFinding:
    """Return a finding in one part; `items` are the values, or the lines, that show it."""
    lines = [item if isinstance(item, int) else item.line for item in items if item is not None]
    places = tuple((part, line) for line in dict.fromkeys(lines or [part.line]))
    return ConfigFinding(id=identity, values={name: str(value) for name, value in values.items()}, places=places)


def instead(first: ConfigFinding, *commands: str) -> ConfigFinding:
    """Return a finding with the commands that repair it."""
    return msgspec.structs.replace(first, commands=commands)


def also(first: ConfigFinding, part: ConfigPart, *items: ConfigValue | int | None) -> ConfigFinding:
    """Return a finding with more places, in another part."""
    lines = [item if isinstance(item, int) else item.line for item in items if item is not None]
    return msgspec.structs.replace(first, places=(*first.places, *((part, line) for line in lines or [part.line])))


class ConfigRule(msgspec.Struct, frozen=True, kw_only=True):
    """A check of every part of some kinds."""

    ids: tuple[str, ...]
    """What it may find."""
    kinds: tuple[Kind, ...]
    check: Callable[[ConfigPart, ConfigContext], Iterator[ConfigFinding]]


class ConfigContext(msgspec.Struct, frozen=True, kw_only=True):
    """What the rules may look at besides their own part."""

    parts: Sequence[ConfigPart]
    settings: Sequence[Setting]
    versions: Mapping[str, str | None]
    """Installed versions by distribution name; None or absent where unknown."""
    refusals: Sequence[Refusal] = ()

    def of(self, *kinds: Kind) -> list[ConfigPart]:
        """Return the parts of some kinds."""
        return [part for part in self.parts if part.kind in kinds]

    def version(self, component: str) -> tuple[int, ...] | None:
        """Return an installed version as numbers, or None where it is not known."""
        return release(self.versions.get(component))

    def since(self, component: str, version: str) -> bool | None:
        """Whether the installed version is `version` or later; None where it is not known."""
        have, want = self.version(component), release(version)
        return None if have is None or want is None else have >= want

    @property
    def uses_hf(self) -> bool:
        """Whether something fills DeepSpeed's "auto" values: Accelerate or the Trainer."""
        if self.of("training-arguments", "accelerate"):
            return True
        if any(part.name == "accelerate" for part in self.of("command")):
            return True
        imports = {name.partition(".")[0] for part in self.parts for name in part.extra.get("imports", ())}
        return bool(imports & {"transformers", "accelerate", "trl", "peft", "lightning", "pytorch_lightning"})


def release(text: str | None) -> tuple[int, ...] | None:
    """Return `2.13.0+cpu` as (2, 13, 0); None for what is no version."""
    numbers: list[int] = []
    for piece in (text or "").split("+")[0].split("."):
        digits = "".join(sign for sign in piece if sign.isdecimal())
        if not piece[:1].isdecimal():
            break
        numbers.append(int(digits[:6]))
    return tuple(numbers) or None


class Fsdp(msgspec.Struct, frozen=True, kw_only=True):
    """An `fsdp_config`, whoever reads it, with one spelling of its keys."""

    part: ConfigPart
    place: str
    """Place of its keys in the settings: accelerate-config, fsdp-config, or python for a call of the plugin."""
    version: int | None
    """1 or 2; None where it depends on a version that is not known."""
    keys: Mapping[str, ConfigValue]
    """Without the prefix `fsdp_`."""
    item: ConfigValue | None = None
    """The block itself."""

    def get(self, name: str) -> ConfigValue | None:
        """Return the item of a key without its prefix."""
        return self.keys.get(name)

    def typed(self, name: str) -> str:
        """Return the key as it is typed in this place."""
        if self.place == "python":
            return {"version": "fsdp_version", **_PLUGIN}.get(name, name)
        return f"fsdp_{name}" if self.place == "accelerate-config" else name


_PLUGIN = {"transformer_layer_cls_to_wrap": "transformer_cls_names_to_wrap", "offload_params": "cpu_offload"}
"""Names of keys in files, and of the same arguments of FullyShardedDataParallelPlugin."""


def _plugin_of(part: ConfigPart) -> Fsdp | None:
    if part.name != "FullyShardedDataParallelPlugin" or "**" in part.root:
        return None
    names = {argument: key for key, argument in _PLUGIN.items()}
    keys = {names.get(name, name).removeprefix("fsdp_"): item for name, item in part.root.items()}
    version = number(keys["version"].value) if "version" in keys else 1
    return Fsdp(part=part, place="python", version=version, keys=keys, item=ConfigValue(value=None, line=part.line))


def fsdp_of(part: ConfigPart, job: ConfigContext) -> Fsdp | None:
    """Return the FSDP configuration of a part, if the part has one that is in use."""
    if part.kind == "call":
        return _plugin_of(part)
    item = part.get("fsdp_config") if part.kind == "accelerate" else ConfigValue(value=part.root, line=part.line)
    if item is None or not isinstance(item.value, Mapping) or not item.value:
        return None
    if part.kind == "accelerate" and part.value("distributed_type") != "FSDP":
        return None
    keys = {name.removeprefix("fsdp_"): value for name, value in item.value.items()}
    written = number(keys["version"].value) if "version" in keys else None
    place = "accelerate-config" if part.kind == "accelerate" else "fsdp-config"
    version = written
    if "version" not in keys:
        version = 1 if part.kind == "accelerate" else default_version(job)
    return Fsdp(part=part, place=place, version=version, keys=keys, item=item)


def default_version(job: ConfigContext) -> int | None:
    """FSDP version that the Trainer takes where none is written: 1 up to transformers 5.4, 2 by 5.10."""
    if job.since("transformers", "5.10"):
        return 2
    return 1 if job.since("transformers", "5.5") is False else None


class Size(msgspec.Struct, frozen=True, kw_only=True):
    """How many processes something starts; None where it is not written."""

    processes: int | None = None
    nodes: int | None = None
    per_node: int | None = None


def command_size(part: ConfigPart) -> Size:
    """Return the size that a launch command asks for."""
    if part.name in {"torchrun", "torch.distributed.launch"}:
        nnodes = part.value("nnodes")
        nodes = 1 if nnodes is None else number(nnodes)
        per_node = 1 if part.value("nproc_per_node") is None else number(part.value("nproc_per_node"))
        return Size(processes=_product(nodes, per_node), nodes=nodes, per_node=per_node)
    if part.name == "accelerate":
        nodes, processes = number(part.value("num_machines")), number(part.value("num_processes"))
        return Size(processes=processes, nodes=nodes, per_node=_ratio(processes, nodes or 1))
    if part.name == "deepspeed":
        nodes, per_node = number(part.value("num_nodes")), number(part.value("num_gpus"))
        return Size(processes=_product(nodes or 1, per_node), nodes=nodes, per_node=per_node)
    return Size()


def accelerate_size(part: ConfigPart) -> Size:
    """Return the size that an Accelerate file asks for."""
    nodes = 1 if part.value("num_machines") is None else number(part.value("num_machines"))
    processes = number(part.value("num_processes"))
    return Size(processes=processes, nodes=nodes, per_node=_ratio(processes, nodes))


def _product(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first * second


def _ratio(first: int | None, second: int | None) -> int | None:
    return None if first is None or not second else first // second


def world_size(job: ConfigContext) -> int | None:
    """Return the number of processes of the job, if everything that states it agrees."""
    stated = {accelerate_size(part).processes for part in job.of("accelerate")}
    stated |= {command_size(part).processes for part in job.of("command")}
    stated.discard(None)
    if not stated and not any(_chooses(part) for part in job.of("accelerate", "command")):
        stated = {_slots(part) for part in job.of("hostfile")}
    return next(iter(stated)) if len(stated) == 1 else None


_CHOOSERS = frozenset(
    {"include", "exclude", "num_gpus", "num_nodes", "deepspeed_inclusion_filter", "deepspeed_exclusion_filter"}
)
_SLOTS = re.compile(r"^\s*[^\s#]\S{0,254}\s{1,40}slots ?= ?(\d{1,4})\b")


def _chooses(part: ConfigPart) -> bool:
    """Whether a launch takes only some of the hosts and slots of a hostfile."""
    block = part.value("deepspeed_config")
    names = {*part.root, *(block if isinstance(block, Mapping) else ())}
    return not names.isdisjoint(_CHOOSERS)


def _slots(part: ConfigPart) -> int | None:
    """How many processes a hostfile has room for, one for each slot."""
    return sum(int(found[1]) for line in part.source.lines if (found := _SLOTS.match(line))) or None


PIPELINE = "deepspeed.PipelineModule"
_PIPE = re.compile(r"deepspeed\.(?:\w+\.)*pipe\b")


def is_pipelined(job: ConfigContext) -> bool:
    """Whether a script cuts the model into a pipeline of DeepSpeed's."""
    if any(call.name == PIPELINE for call in job.of("call")):
        return True
    return any(_PIPE.match(name) for part in job.parts for name in part.extra.get("imports", ()))


def short(value: Any) -> str:
    """Return a value for a sentence, cut to a readable length."""
    text = " ".join(str(value).split())
    return text if len(text) <= 60 else text[:59] + "…"
