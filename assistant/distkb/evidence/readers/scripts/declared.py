"""What a project declares for the whole job: how it is spread over the ranks, as far as scripts or files say so."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from distkb.evidence.readers.scripts.source import Script

_SHARDING = frozenset(
    {
        "fully_shard", "distribute_tensor", "distribute_module", "parallelize_module", "DTensor", "from_local", "FSDP",
        "FullyShardedDataParallel", "FullyShardedDataParallelPlugin", "ModelParallelStrategy",
    }
)  # fmt: skip


class Declared:
    """What any of the scripts, or a configuration beside them, says of the whole job."""

    def __init__(self, scripts: list[Script], spread: str) -> None:
        """Take the scripts, and how configurations say that the model is spread, as the fact `parallelism` names it."""
        self._scripts = scripts
        self.spread = spread

    @cached_property
    def has_sharded(self) -> bool:
        """Whether any script makes tensors or parameters of which each rank holds a part."""
        named = (node.id if isinstance(node, ast.Name) else getattr(node, "attr", "") for node in self._nodes())
        return not _SHARDING.isdisjoint(named)

    @cached_property
    def has_sharding_plugin(self) -> bool:
        """Whether Accelerate is told to shard the parameters of what it prepares: FSDP, or ZeRO's third stage."""
        if self.spread in {"fsdp1", "fsdp2", "zero3"}:
            return True
        for node in self._nodes():
            if isinstance(node, ast.Call):
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                stage = next((word.value for word in node.keywords if word.arg == "zero_stage"), None)
                if name == "FullyShardedDataParallelPlugin" or (
                    name == "DeepSpeedPlugin" and isinstance(stage, ast.Constant) and stage.value == 3
                ):
                    return True
        return False

    @cached_property
    def has_third_stage(self) -> bool:
        """Whether a setting of DeepSpeed, in a configuration or written out in a script, shards the parameters."""
        if self.spread == "zero3":
            return True
        for node in self._nodes():
            if isinstance(node, ast.Dict):
                pairs = zip(node.keys, node.values, strict=True)
                if any(getattr(k, "value", None) == "stage" and getattr(v, "value", None) == 3 for k, v in pairs):
                    return True
            elif isinstance(node, ast.keyword) and node.arg in {"stage", "zero_stage"}:
                if getattr(node.value, "value", None) == 3:
                    return True
            elif isinstance(node, ast.Constant) and node.value == "deepspeed_stage_3":
                return True
        return False

    @cached_property
    def has_deepspeed_config(self) -> bool:
        """Whether a trainer is given a configuration for DeepSpeed."""
        given = (isinstance(node, ast.keyword) and node.arg == "deepspeed" for node in self._nodes())
        return self.spread.startswith("zero") or any(given)

    @cached_property
    def has_stepwise_metrics(self) -> bool:
        """Whether any script makes metrics that speak to the other ranks in each step."""
        return any(isinstance(node, ast.keyword) and node.arg == "dist_sync_on_step" for node in self._nodes())

    def _nodes(self) -> Iterator[ast.AST]:
        return (node for script in self._scripts for node in script.nodes)
