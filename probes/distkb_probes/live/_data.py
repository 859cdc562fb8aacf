"""Do the ranks have different data, the same step, and the same optimizer settings?"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from distkb_probes.live._check import ROWS, Check, Verdict
from distkb_probes.live._exchange import Sheet
from distkb_probes.live._hash import Reader
from distkb_probes.live._managed import survey
from distkb_probes.live._ranks import classes, odd_ones, spans
from distkb_probes.live._result import finding
from distkb_probes.live._tensors import tensors_in

if TYPE_CHECKING:
    import torch

_PLAIN = ("torch.optim", "accelerate.")
"""Optimizers that step the parameters they were given; DeepSpeed's and Apex's step copies of their own."""


class DataCheck(Check):
    """Finds ranks that were given the same batch: where every rank draws its own, bytes never coincide."""

    name = "data"
    ids = ("live.same-batch", "live.batch-structure")

    def __init__(self, batch: Any, deadline: float) -> None:
        self.batch, self.deadline = batch, deadline

    def collect(self) -> Sheet:
        """Sum up the batch's tensors; a batch without tensors is summed up by its text."""
        reader = Reader(self.deadline)
        named = [(name, tensor, reader.read(tensor)) for name, tensor in tensors_in(self.batch)]
        reader.finish()
        sums: list[Any] = [reading.checksum for _, _, reading in named]
        elements = sum(tensor.numel() for _, tensor, _ in named)
        if not named:
            text = repr(self.batch)
            sums, elements = [text], len(text)
        known = elements > 0 and any(one is not None for one in sums)
        digest = hashlib.sha256(json.dumps(sums).encode()).hexdigest()[:16] if known else None
        structure = ", ".join(f"{name} {str(t.dtype).removeprefix('torch.')} {t.dim()}-d" for name, t, _ in named[:16])
        shapes = {name: list(tensor.shape) for name, tensor, _ in named[:8]}
        return Sheet({"digest": digest, "structure": structure, "shapes": shapes})

    def judge(self, summaries: Mapping[int, Any], details: Mapping[int, Any]) -> Verdict:  # noqa: ARG002
        """Name the ranks with equal batches and those whose batch is built otherwise."""
        found = []
        digests = {rank: summary["digest"] for rank, summary in summaries.items() if summary["digest"]}
        same = [ranks for ranks in classes(digests) if len(ranks) > 1]
        if same:
            ranks = sorted(rank for group in same for rank in group)
            evidence = [f"rank {spans(group)}: checksum {digests[group[0]]}" for group in same[:ROWS]]
            values = {"total": len(ranks), "world": len(summaries)}
            found.append(finding("live.same-batch", ranks=ranks, evidence=evidence, values=values))
        structures = {rank: summary["structure"] for rank, summary in summaries.items()}
        odd, most = odd_ones(structures)
        if odd:
            values = {
                "others": len(most),
                "value": structures[odd[0]],
                "expected": structures[most[0]],
            }
            found.append(finding("live.batch-structure", ranks=odd, values=values))
        return found, {"shapes": {str(rank): summary["shapes"] for rank, summary in summaries.items()}}


class StepCheck(Check):
    """Compares a number that must be the same on every rank."""

    name = "step"
    ids = ("live.step-differs",)

    def __init__(self, step: int) -> None:
        self.step = step

    def collect(self) -> Sheet:
        """Take the step as it was given."""
        return Sheet({"step": int(self.step)})

    def judge(self, summaries: Mapping[int, Any], details: Mapping[int, Any]) -> Verdict:  # noqa: ARG002
        """Group the ranks by step."""
        steps = {rank: summary["step"] for rank, summary in summaries.items()}
        odd, most = odd_ones(steps)
        facts = {"step": steps[most[0]]}
        if not odd:
            return [], facts
        evidence = [f"rank {spans(ranks)}: step {steps[ranks[0]]}" for ranks in classes(steps)[:ROWS]]
        values = {"others": len(most), "value": steps[odd[0]], "expected": steps[most[0]]}
        return [finding("live.step-differs", ranks=odd, evidence=evidence, values=values)], facts


class OptimizerCheck(Check):
    """Compares learning rates, and looks whether the optimizer holds the model's parameters."""

    name = "optimizer"
    ids = ("live.learning-rate-differs", "live.optimizer-stale")

    def __init__(self, optimizer: torch.optim.Optimizer, model: torch.nn.Module | None) -> None:
        self.optimizer, self.model = optimizer, model

    def collect(self) -> Sheet:
        """Read the parameter groups."""
        groups = self.optimizer.param_groups
        held = {id(parameter) for group in groups for parameter in group["params"]}
        summary: dict[str, Any] = {
            "rates": [float(group["lr"]) for group in groups if "lr" in group],
            "held": len(held),
        }
        if self.model is not None and type(self.optimizer).__module__.startswith(_PLAIN):
            items = [item for item in survey(self.model) if item.parameter.requires_grad]
            if not {item.kind for item in items} & {"zero", "deepspeed"}:
                summary["trainable"] = len(items)
                # what fully_shard has gathered for the moment is not what the optimizer holds
                own = [item.dtensor if item.kind == "fsdp2" else item.parameter for item in items]
                summary["shared"] = sum(id(parameter) in held for parameter in own)
        return Sheet(summary)

    def judge(self, summaries: Mapping[int, Any], details: Mapping[int, Any]) -> Verdict:  # noqa: ARG002
        """Name the ranks with other rates, and those whose optimizer steps parameters that are not in the model."""
        found = []
        rates = {rank: ", ".join(f"{rate:.6g}" for rate in summary["rates"]) for rank, summary in summaries.items()}
        odd, most = odd_ones(rates)
        if odd:
            values = {"others": len(most), "value": rates[odd[0]], "expected": rates[most[0]]}
            found.append(finding("live.learning-rate-differs", ranks=odd, values=values))
        stale = [rank for rank, s in summaries.items() if s.get("trainable") and s["held"] and not s["shared"]]
        if stale:
            one = summaries[stale[0]]
            values = {"held": one["held"], "trainable": one["trainable"]}
            found.append(finding("live.optimizer-stale", ranks=stale, values=values))
        return found, {"rates": summaries[min(summaries)]["rates"]}
