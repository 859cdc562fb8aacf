"""Wraps a plain model the way one would: each repeated block as a unit, then the model itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from distkb_probes.sharding.blocks import instances, kind_of
from distkb_probes.sharding.memory import Precision
from distkb_probes.sharding.plan import Plan, Unit
from distkb_probes.sharding.read import clean, read
from distkb_probes.sharding.ties import Ties, fully_shard_homes


def wrap(model: Any, plain: Plan, classes: tuple[str, ...], precision: Precision, ties: Ties) -> tuple[Plan, str]:
    """Apply `fully_shard` to every module of `classes` and to the model, and return what it became.

    With it comes why `fully_shard` refused (empty where it did not): the units are then drawn from the names only.
    """
    chosen = instances(model, classes)
    drawn = _drawn(plain, model, chosen, precision)
    try:
        _apply(model, [module for _, module in chosen], precision)
    except Exception as error:  # noqa: BLE001 - what torch refuses here it refuses in training too: an answer
        return drawn, f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    wrapped = read(model, ties)
    return replace(wrapped, api="none", blocks=plain.blocks, block_names=plain.block_names), ""


def _apply(model: Any, modules: Sequence[Any], precision: Precision) -> None:
    import torch

    home = fully_shard_homes()[0]
    low = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision)
    reduced = torch.float32 if low else None
    policy = home.MixedPrecisionPolicy(param_dtype=low, reduce_dtype=reduced)
    for module in (*modules, model):
        home.fully_shard(module, mp_policy=policy)


def _drawn(plain: Plan, model: Any, chosen: Sequence[tuple[str, Any]], precision: Precision) -> Plan:
    low = {"bf16": "bfloat16", "fp16": "float16"}.get(precision)
    taken: set[str] = set()
    units = []
    for name, module in chosen:
        prefix = f"{clean(name)}."
        params = tuple(p for p in plain.params if p.name.startswith(prefix) and p.name not in taken)
        taken |= {param.name for param in params}
        units.append(Unit(clean(name), kind_of(module), params, param_dtype=low))
    rest = tuple(param for param in plain.params if param.name not in taken)
    root = Unit("", kind_of(model), rest, root=True, param_dtype=low)
    return replace(plain, units=(root, *units))
