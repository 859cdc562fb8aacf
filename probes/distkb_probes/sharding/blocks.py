"""Finds the repeated blocks of a model, which are what FSDP units should be made of."""

# ruff: noqa: SLF001 - what a wrapper holds is known to itself only
from __future__ import annotations

from collections import Counter
from typing import Any

SHARE = 0.05
"""A class is a block if its repeated instances hold at least this share of the parameters."""


def block_classes(model: Any) -> tuple[str, ...]:
    """Return the class names of the repeated blocks, the largest share of the parameters first.

    `_no_split_modules`, where a Hugging Face model names its blocks, is taken without what occurs once (embeddings,
    which are often tied to the head). Otherwise a block is a class
    with submodules of its own that occurs at least twice in one ModuleList, Sequential or ModuleDict; of nested ones
    the outermost counts.
    """
    named = getattr(model, "_no_split_modules", None)
    present = Counter(kind_of(module) for module in model.modules())
    if named and (known := [name for name in dict.fromkeys(named) if present[name] > 1]):
        return tuple(known)
    sizes: Counter[str] = Counter()
    _collect(model, sizes)
    total = sum(param.numel() for param in model.parameters())
    return tuple(name for name, size in sizes.most_common() if size >= SHARE * total)


def instances(model: Any, classes: tuple[str, ...]) -> list[tuple[str, Any]]:
    """Return the outermost modules of these classes with their names, in the model's order."""
    found: list[tuple[str, Any]] = []
    _outermost(model, "", classes, found, set())
    return found


def class_names(model: Any) -> tuple[str, ...]:
    """Return the classes of all modules that have submodules, those with the most instances first."""
    counted = Counter(kind_of(module) for module in model.modules() if any(True for _ in module.children()))
    return tuple(name for name, _ in counted.most_common())


def _outermost(module: Any, name: str, classes: tuple[str, ...], found: list[tuple[str, Any]], seen: set[int]) -> None:
    module, name = _inside(module, name)
    for label, child in module.named_children():
        if id(child) in seen:
            continue
        seen.add(id(child))
        full = f"{name}.{label}" if name else label
        if kind_of(child) in classes:
            found.append((full, child))
        else:
            _outermost(child, full, classes, found, seen)


def _inside(module: Any, name: str) -> tuple[Any, str]:
    """Return the module that an FSDP1 wrapper holds, with its name."""
    while (inner := module._modules.get("_fsdp_wrapped_module")) is not None:
        module, name = inner, f"{name}._fsdp_wrapped_module".lstrip(".")
    return module, name


def _collect(module: Any, sizes: Counter[str]) -> None:
    from torch import nn

    module, _ = _inside(module, "")
    repeated: set[str] = set()
    if isinstance(module, (nn.ModuleList, nn.Sequential, nn.ModuleDict)):
        kinds = Counter(kind_of(child) for child in module.children() if any(True for _ in child.children()))
        repeated = {kind for kind, times in kinds.items() if times > 1 and kind not in _CONTAINERS}
    for child in module.children():
        if kind_of(child) in repeated:
            # Under FSDP1 without original parameters, what is left of a block is its flat parameter.
            sizes[kind_of(child)] += sum(param.numel() for param in child.parameters())
        else:
            _collect(child, sizes)


_CONTAINERS = frozenset({"ModuleList", "Sequential", "ModuleDict"})


def kind_of(module: Any) -> str:
    """Return the class name of a module as its author wrote it, whatever FSDP has made of it.

    FullyShardedDataParallel holds the module as `_fsdp_wrapped_module`; `fully_shard` gives it a subclass of its own
    class and FSDPModule, whose name begins with FSDP.
    """
    inner = module._modules.get("_fsdp_wrapped_module") or module._modules.get("_checkpoint_wrapped_module")
    if inner is not None:
        return kind_of(inner)
    for base in type(module).__mro__:
        if not any(up.__name__ == "FSDPModule" for up in base.__mro__):
            return base.__name__
    return type(module).__name__
