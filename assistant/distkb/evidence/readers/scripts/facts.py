"""What the scripts say about the run: how it is parallelised, how it is started, who does the backward."""

from __future__ import annotations

import ast
from typing import Any

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import has_spread, keyword
from distkb.evidence.readers.scripts.hit import ScriptContext
from distkb.evidence.readers.scripts.names import canonical, constant, last

_BY_KIND = {kinds.DDP: "ddp", kinds.FSDP1: "fsdp1", kinds.FSDP2: "fsdp2"}


def facts_of(job: ScriptContext) -> dict[str, Any]:
    """Return `parallelism`, `launchers` and `implies`, the intake facts that are certain enough to answer.

    A way of parallelising counts where its call is made without an open test, and is implied where it is the only one.
    """
    certain: set[str] = set()
    possible: set[str] = set()
    launchers: set[str] = set()
    for function, site in job.sites():
        full = canonical(site.node.func, function.script)
        kind = kinds.kind_of(site.node, function, job.project) if "." in full else ""
        name = _BY_KIND.get(kind, "deepspeed" if full == "deepspeed.initialize" else "")
        if kind == kinds.ACCELERATOR:
            name = "accelerate"
        elif kind == kinds.PL_TRAINER:
            name = _of_trainer(site.node)
        elif last(site.node.func).endswith("TrainingArguments") and not has_spread(site.node):
            name = "ddp"  # what a trainer does where its arguments ask for nothing else
        possible |= {word.arg for word in site.node.keywords if word.arg in {"fsdp", "deepspeed"}}
        if name:
            (certain if site.where.certain else possible).add(name)
        if full.endswith(("multiprocessing.spawn", "notebook_launcher")):
            launchers.add("spawn")
        if full in {"deepspeed.initialize", "deepspeed.init_distributed"}:
            launchers.add("deepspeed")
    if job.mentions("LOCAL_RANK"):
        launchers.add("torchrun")
    ways = certain | possible
    implies = []
    if len(ways) == 1 and certain <= {"ddp", "fsdp1", "fsdp2"} and certain:
        implies.append(f"parallelism={_FACTS[min(certain)]}")
    return {
        "scripts": len(job.project.scripts),
        "parallelism": sorted(ways),
        "launchers": sorted(launchers),
        "implies": implies,
    }


def _of_trainer(call: ast.Call) -> str:
    """How Lightning's trainer spreads the model by its own arguments; empty where they leave it open."""
    strategy = keyword(call, "strategy")
    if isinstance(strategy, ast.Call):
        return "ddp" if last(strategy.func) == "DDPStrategy" else ""
    named = constant(strategy) if strategy is not None else "ddp"
    return "ddp" if str(named).startswith("ddp") else ""


_FACTS = {"ddp": "ddp", "fsdp1": "fsdp1", "fsdp2": "fsdp2"}
