"""All rules for scripts, in the order in which they look."""

from __future__ import annotations

from distkb.evidence.readers.scripts import (
    rules_accumulation,
    rules_branches,
    rules_bypass,
    rules_checkpoints,
    rules_data,
    rules_decisions,
    rules_device,
    rules_engine,
    rules_files,
    rules_groups,
    rules_launch,
    rules_model,
    rules_order,
    rules_resume,
    rules_schedule,
    rules_sharding,
    rules_threads,
    rules_updates,
    rules_workers,
)
from distkb.evidence.readers.scripts.hit import ScriptRule

RULES: tuple[ScriptRule, ...] = (
    *rules_branches.RULES,
    *rules_decisions.RULES,
    *rules_order.RULES,
    *rules_model.RULES,
    *rules_resume.RULES,
    *rules_schedule.RULES,
    *rules_device.RULES,
    *rules_data.RULES,
    *rules_engine.RULES,
    *rules_sharding.RULES,
    *rules_files.RULES,
    *rules_launch.RULES,
    *rules_groups.RULES,
    *rules_updates.RULES,
    *rules_bypass.RULES,
    *rules_checkpoints.RULES,
    *rules_workers.RULES,
    *rules_threads.RULES,
    *rules_accumulation.RULES,
)
