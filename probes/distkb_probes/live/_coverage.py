"""Which parameters nobody shards or synchronises, and how the sharded ones are placed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from distkb_probes.live._check import Check, Verdict
from distkb_probes.live._exchange import Sheet
from distkb_probes.live._managed import Managed, survey
from distkb_probes.live._ranks import classes, odd_ones, spans
from distkb_probes.live._result import finding

if TYPE_CHECKING:
    import torch

_LARGE = 1 << 20
"""Elements from which a replicated parameter among sharded ones is worth a word; norms and biases are small."""


class CoverageCheck(Check):
    """Counts the parameters by manager and names the trainable ones without."""

    name = "coverage"
    ids = ("live.outside-fsdp", "live.outside-ddp", "live.not-wrapped", "live.coverage-differs")

    def __init__(self, model: torch.nn.Module) -> None:
        self.model = model

    def collect(self) -> Sheet:
        """Survey the model on this rank."""
        kinds: dict[str, list[int]] = {}
        alone = []
        for item in survey(self.model):
            count = kinds.setdefault(item.kind, [0, 0])
            count[0] += 1
            count[1] += _elements(item)
            if item.kind == "none" and item.parameter.requires_grad:
                alone.append(item.name)
        summary = {"kinds": {kind: counts[0] for kind, counts in sorted(kinds.items())}}
        return Sheet({**summary, "elements": kinds, "alone": len(alone), "names": alone[:5]})

    def judge(self, summaries: Mapping[int, Any], details: Mapping[int, Any]) -> Verdict:  # noqa: ARG002
        """Say what is outside, by the wrapper that the rest of the model has."""
        found = []
        first = summaries[min(summaries)]
        facts = {"parameters": first["kinds"], "elements": {kind: both[1] for kind, both in first["elements"].items()}}
        by_rank = {rank: str(summary["kinds"]) for rank, summary in summaries.items()}
        odd, most = odd_ones(by_rank)
        if odd:
            values = {"others": len(most), "value": by_rank[odd[0]], "expected": by_rank[most[0]]}
            found.append(finding("live.coverage-differs", ranks=odd, values=values))
        ranks = [rank for rank, summary in summaries.items() if summary["alone"]]
        if not ranks or len(summaries) == 1:
            return found, facts
        one = summaries[ranks[0]]
        kinds = set(one["kinds"]) - {"none"}
        values = {"name": one["names"][0], "total": one["alone"], "parameters": sum(one["kinds"].values())}
        identity = "live.not-wrapped"
        if kinds:
            identity = "live.outside-fsdp" if kinds & {"fsdp1", "fsdp2"} else "live.outside-ddp"
        if kinds <= {"dtensor", "zero"} and kinds:
            return found, facts  # plain parameters beside tensor-parallel ones are kept equal by their equal gradients
        found.append(finding(identity, ranks=ranks, evidence=one["names"], values=values))
        return found, facts


class PlacementCheck(Check):
    """Groups the DTensor parameters by mesh and placements."""

    name = "placements"
    ids = ("live.placements-differ", "live.placement-replicated", "live.placement-partial")

    def __init__(self, model: torch.nn.Module) -> None:
        self.model = model

    def collect(self) -> Sheet:
        """Describe where the model's DTensors lie."""
        groups: dict[str, dict[str, Any]] = {}
        whole, partial, split = [], [], False
        for item in survey(self.model):
            if item.dtensor is None:
                whole += [item.name] if item.kind == "none" and _elements(item) >= _LARGE else []
                continue
            mesh, placements = item.dtensor.device_mesh, item.dtensor.placements
            group = groups.setdefault(_layout(mesh, placements), {"count": 0, "elements": 0, "names": []})
            group["count"] += 1
            group["elements"] += item.dtensor.numel()
            group["names"] = [*group["names"], item.name][:3]
            spread = [placement for placement, size in zip(placements, mesh.mesh.shape, strict=True) if size > 1]
            split = split or any(not placement.is_replicate() for placement in spread)
            if any(placement.is_partial() for placement in placements):
                partial.append(item.name)
            replicated = item.kind == "dtensor" and spread and all(p.is_replicate() for p in spread)
            if replicated and item.dtensor.numel() >= _LARGE:
                whole.append(item.name)
        large = whole if split else []
        return Sheet({"groups": groups, "large": large[:5], "large_count": len(large), "partial": partial[:5]})

    def judge(self, summaries: Mapping[int, Any], details: Mapping[int, Any]) -> Verdict:  # noqa: ARG002
        """Compare the layouts between the ranks, and name what is replicated or partial among sharded parameters."""
        found = []
        first = summaries[min(summaries)]
        by_rank = {rank: _counts(summary["groups"]) for rank, summary in summaries.items()}
        odd, most = odd_ones(by_rank)
        if odd:
            values = {"others": len(most), "value": by_rank[odd[0]], "expected": by_rank[most[0]]}
            evidence = [f"rank {spans(ranks)}: {by_rank[ranks[0]]}" for ranks in classes(by_rank)[:8]]
            found.append(finding("live.placements-differ", ranks=odd, evidence=evidence, values=values))
        if first["partial"]:
            name = first["partial"][0]
            found.append(
                finding("live.placement-partial", ranks=summaries, evidence=first["partial"], values={"name": name})
            )
        if first["large"]:
            values = {"name": first["large"][0], "total": first["large_count"]}
            found.append(finding("live.placement-replicated", ranks=summaries, evidence=first["large"], values=values))
        return found, {"layouts": first["groups"]}


def _layout(mesh: Any, placements: Any) -> str:
    names = mesh.mesh_dim_names or [f"dim{index}" for index in range(mesh.mesh.ndim)]
    sizes = " × ".join(f"{name}={size}" for name, size in zip(names, mesh.mesh.shape, strict=True))
    return f"{', '.join(str(placement) for placement in map(_placed, placements))} on {mesh.device_type} {sizes}"


def _placed(placement: Any) -> str:
    """Write a placement in the same way under every version of torch."""
    if placement.is_replicate():
        return "Replicate"
    if placement.is_partial():
        return "Partial"
    return f"Shard({placement.dim})"


def _counts(groups: Mapping[str, Any]) -> str:
    return "; ".join(f"{group['count']} {layout}" for layout, group in sorted(groups.items())) or "no DTensor"


def _elements(item: Managed) -> int:
    try:
        return int((item.dtensor if item.dtensor is not None else item.parameter).numel())
    except (RuntimeError, ValueError):  # a lazy module's parameter has no shape yet
        return 0
