"""All rules for configurations and launch files, in the order in which they look."""

from __future__ import annotations

from distkb.evidence.readers.configs import (
    rules_accelerate,
    rules_alone,
    rules_arguments,
    rules_deepspeed,
    rules_engines,
    rules_fsdp,
    rules_keys,
    rules_launch,
    rules_lightning,
    rules_machines,
    rules_ports,
    rules_refusals,
    rules_rendezvous,
    rules_shapes,
    rules_shell,
    rules_slurm,
    rules_trainers,
)
from distkb.evidence.readers.configs.job import ConfigRule

RULES: tuple[ConfigRule, ...] = (
    *rules_keys.RULES,
    *rules_accelerate.RULES,
    *rules_fsdp.RULES,
    *rules_deepspeed.RULES,
    *rules_engines.RULES,
    *rules_arguments.RULES,
    *rules_launch.RULES,
    *rules_slurm.RULES,
    *rules_rendezvous.RULES,
    *rules_shell.RULES,
    *rules_lightning.RULES,
    *rules_trainers.RULES,
    *rules_refusals.RULES,
    *rules_shapes.RULES,
    *rules_machines.RULES,
    *rules_ports.RULES,
    *rules_alone.RULES,
)
