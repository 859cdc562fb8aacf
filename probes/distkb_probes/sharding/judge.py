"""What is wrong, or worth knowing, about how a model is sharded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from distkb_probes.sharding.memory import Bytes, Setting, gathered
from distkb_probes.sharding.plan import LOW_PRECISION, Param, Plan, Unit

IDS = (
    "model.root-holds-most",
    "model.units-too-small",
    "model.units-uneven",
    "model.does-not-fit",
    "model.fits-no-strategy",
    "model.prefetch-does-not-fit",
    "model.no-master-weights",
    "model.reduce-dtype-unset",
    "model.reduce-dtype-low",
    "model.param-dtype-unset",
    "model.buffer-dtype-unset",
    "model.fp16-needs-scaler",
    "model.dtypes-differ-between-units",
    "model.dtypes-mixed-in-unit",
    "model.frozen-mixed-in-unit",
    "model.frozen-refused",
    "model.tied-across-units",
    "model.unmanaged-parameters",
    "model.ignored-parameters",
    "model.real-tensors",
    "model.shard-group-across-nodes",
    "model.one-rank",
    "model.no-sharding",
    "model.wrap-class-missing",
    "model.fully-shard-refuses",
)
"""Everything that is looked for."""
MEMORY_IDS = ("model.does-not-fit", "model.fits-no-strategy", "model.prefetch-does-not-fit")
"""What is looked for only where the GPU's memory was given."""

ROOT_SHARE = 0.5
"""A root unit with more than this share of the parameters means that the blocks are not units."""
LARGE = 1 << 30
"""Bytes of a root unit from which gathering it at once matters even where no repeated block was found."""
UNEVEN = 8.0
"""A unit this many times the median makes the memory peak by itself."""


@dataclass(frozen=True)
class Found:
    """One finding with the values that its sentence needs."""

    id: str
    values: Mapping[str, str] = field(default_factory=dict)


def judge(plan: Plan, setting: Setting) -> list[Found]:
    """Return the findings about units, dtypes and parameters; memory is `judge_memory`'s."""
    return [
        *_units(plan),
        *_groups(plan, setting),
        *_master_weights(plan),
        *(_dtypes(plan) if plan.api != "none" else ()),
        *_mixed(plan),
        *_parameters(plan),
    ]


def judge_memory(table: Mapping[str, Bytes], chosen: str, memory: int, plan: Plan, setting: Setting) -> list[Found]:
    """Return whether the chosen strategy fits into `memory` bytes, and which others would."""
    need = table[chosen]
    if need.peak <= memory:
        return []
    called = names(plan)
    shown = {"strategy": called[chosen], "need": size(need.peak), "memory": size(memory)}
    fitting = [called[name] for name, item in table.items() if item.peak <= memory and name != "built"]
    if not fitting:
        smallest = min(table, key=lambda name: table[name].peak)
        return [
            Found("model.fits-no-strategy", {**shown, "best": called[smallest], "least": size(table[smallest].peak)})
        ]
    found = [Found("model.does-not-fit", {**shown, "fitting": ", ".join(fitting)})]
    passing = sorted((gathered(unit) for unit in plan.units if not unit.root and unit.reshard), reverse=True)
    if setting.world_size > 1 and chosen in PREFETCHING and len(passing) > 1 and need.peak - passing[1] <= memory:
        found.append(Found("model.prefetch-does-not-fit", {"pair": size(sum(passing[:2])), "memory": size(memory)}))
    return found


NAMES = {
    "ddp": "DDP",
    "zero1": "ZeRO-1",
    "zero2": "ZeRO-2",
    "zero3": "ZeRO-3",
    "shard_grad_op": "FSDP1 SHARD_GRAD_OP",
    "hybrid_shard": "FSDP1 HYBRID_SHARD",
    "full_shard": "FSDP1 FULL_SHARD",
    "fsdp2_no_reshard": "FSDP2, no resharding",
    "fsdp2_hybrid": "FSDP2 hybrid",
    "fsdp2": "FSDP2",
}
"""How each strategy is written for people. `built`, the model's own wrapping, is named after what it is."""

PREFETCHING = frozenset({"hybrid_shard", "full_shard", "fsdp2_hybrid", "fsdp2", "built"})
"""Strategies that gather one unit after the other."""


def names(plan: Plan) -> dict[str, str]:
    """Return how the strategies are written for this model, in either language."""
    if plan.api == "none":
        return NAMES
    kinds = list(dict.fromkeys(unit.strategy for unit in plan.units))
    return {**NAMES, "built": f"{plan.api.upper()} {'/'.join(kinds)}"}


def size(count: int) -> str:
    """Return bytes in the binary unit that people read: `24.1 GiB`."""
    for unit, factor in (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} B"


def some(names: Sequence[str], limit: int = 3) -> str:
    """Return the first names and how many more there are."""
    shown = ", ".join(names[:limit])
    return f"{shown} (+{len(names) - limit})" if len(names) > limit else shown


def _units(plan: Plan) -> Iterable[Found]:
    root, total = plan.root, plan.numel
    if root and total and root.numel > ROOT_SHARE * total:
        inside = [p for p in root.params if p.name.startswith(tuple(f"{name}." for name in plan.block_names))]
        if (plan.block_names and inside) or root.nbytes >= LARGE:
            yield Found(
                "model.root-holds-most",
                {
                    "share": f"{100 * root.numel / total:.0f}",
                    "gathered": size(gathered(root)),
                    "blocks": ", ".join(plan.blocks) or "-",
                    "block": plan.blocks[0] if plan.blocks else "Block",
                },
            )
    others = [gathered(unit) for unit in plan.units if not unit.root]
    if len(plan.block_names) > 1 and len(others) >= 3 * len(plan.block_names):
        yield Found(
            "model.units-too-small",
            {"units": str(len(others)), "blocks": str(len(plan.block_names)), "median": size(int(median(others)))},
        )
    elif len(others) > 2 and max(others) > UNEVEN * median(others):
        largest = max((unit for unit in plan.units if not unit.root), key=gathered)
        yield Found(
            "model.units-uneven",
            {"unit": largest.name, "size": size(gathered(largest)), "median": size(int(median(others)))},
        )


def _groups(plan: Plan, setting: Setting) -> Iterable[Found]:
    if plan.api == "none":
        return
    if setting.world_size == 1:
        yield Found("model.one-rank")
    crossing = [
        unit
        for unit in plan.units
        if 1 < unit.shard <= setting.per_node < setting.world_size
        and len({rank // setting.per_node for rank in unit.shard_ranks}) > 1
    ]
    if crossing:
        ranks = crossing[0].shard_ranks
        yield Found(
            "model.shard-group-across-nodes",
            {"ranks": some([str(rank) for rank in ranks], 4), "size": str(len(ranks)), "node": str(setting.per_node)},
        )
    whole = [unit for unit in plan.units if unit.strategy == "NO_SHARD"]
    if whole and setting.world_size > 1:
        yield Found("model.no-sharding", {"units": some([unit.name or unit.kind for unit in whole])})


def _master_weights(plan: Plan) -> Iterable[Found]:
    trained = [param for param in plan.params if param.trainable]
    low = [param for param in trained if param.dtype in LOW_PRECISION]
    if low and sum(p.numel for p in low) > ROOT_SHARE * sum(p.numel for p in trained):
        yield Found("model.no-master-weights", {"dtype": low[0].dtype, "count": str(len(low)), "of": str(len(trained))})


def _dtypes(plan: Plan) -> Iterable[Found]:
    units = [unit for unit in plan.units if any(param.trainable for param in unit.params)]
    low = next((unit for unit in units if unit.param_dtype in LOW_PRECISION), None)
    unset = next((unit for unit in units if unit.param_dtype in LOW_PRECISION and unit.reduce_dtype is None), None)
    if unset:
        yield Found("model.reduce-dtype-unset", {"param_dtype": str(unset.param_dtype), "unit": _label(unset)})
    reduced = next((unit for unit in units if unit.reduce_dtype in LOW_PRECISION), None)
    if reduced:
        yield Found("model.reduce-dtype-low", {"dtype": str(reduced.reduce_dtype)})
    only = next((unit for unit in units if unit.param_dtype is None and unit.reduce_dtype is not None), None)
    if only:
        yield Found("model.param-dtype-unset", {"dtype": str(only.reduce_dtype), "unit": _label(only)})
    floats = [buffer.name for buffer in plan.buffers if buffer.dtype == "float32"]
    if low and low.api == "fsdp1" and low.buffer_dtype is None and floats:
        yield Found("model.buffer-dtype-unset", {"param_dtype": str(low.param_dtype), "buffers": some(floats)})
    if any(unit.param_dtype == "float16" for unit in units):
        yield Found("model.fp16-needs-scaler")
    computing: dict[str, list[str]] = {}
    for unit in units:
        computing.setdefault(str(unit.param_dtype), []).append(_label(unit))
    if len(computing) > 1:
        parts = "; ".join(f"param_dtype={dtype}: {some(names, 2)}" for dtype, names in computing.items())
        yield Found("model.dtypes-differ-between-units", {"parts": parts})


def _mixed(plan: Plan) -> Iterable[Found]:
    for unit in plan.units:
        trained: dict[str, list[str]] = {}
        for param in unit.params:
            if param.trainable:
                trained.setdefault(param.dtype, []).append(param.name)
        if len(trained) > 1:
            yield mixed_dtypes(_label(unit), trained)
            break
    for unit in plan.units:
        frozen = [param for param in unit.params if not param.trainable]
        if unit.api == "fsdp1" and frozen and len(frozen) < len(unit.params):
            yield Found("model.frozen-mixed-in-unit", frozen_values(_label(unit), unit.params))
            break


def mixed_dtypes(unit: str, names: Mapping[str, Sequence[str]]) -> Found:
    """Return the finding about a unit whose parameters have several dtypes."""
    parts = "; ".join(f"{dtype}: {some(list(found), 2)}" for dtype, found in names.items())
    return Found("model.dtypes-mixed-in-unit", {"unit": unit, "parts": parts})


def frozen_values(unit: str, params: Sequence[Param]) -> dict[str, str]:
    """Return the values of the finding about a unit that is partly frozen."""
    frozen = [param.name for param in params if not param.trainable]
    trained = [param.name for param in params if param.trainable]
    return {"unit": unit, "frozen": some(frozen, 2), "trained": some(trained, 2)}


def _parameters(plan: Plan) -> Iterable[Found]:
    for names in plan.broken_ties[:1]:
        yield Found("model.tied-across-units", {"names": ", ".join(names[:4])})
    loose = [param for param in plan.unmanaged if param.trainable]
    if loose:
        share = 100 * sum(param.numel for param in loose) / (plan.numel or 1)
        yield Found(
            "model.unmanaged-parameters",
            {"count": str(len(loose)), "names": some([param.name for param in loose]), "share": f"{share:.1f}"},
        )
    skipped = [param.name for param in plan.ignored if param.trainable]
    if skipped:
        yield Found("model.ignored-parameters", {"count": str(len(skipped)), "names": some(skipped)})
    real = [param for param in plan.params if param.device not in {"meta", ""}]
    if real:
        devices = ", ".join(sorted({param.device for param in real}))
        yield Found("model.real-tensors", {"names": some([param.name for param in real]), "devices": devices})


def _label(unit: Unit) -> str:
    return unit.name or unit.kind
