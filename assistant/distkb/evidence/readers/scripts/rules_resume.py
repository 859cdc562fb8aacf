"""What a script that goes on from a checkpoint leaves behind in it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, keyword, last
from distkb.evidence.readers.scripts.project import Function

_COUNTERS = frozenset({"step", "epoch", "global_step", "iteration", "iter", "start_epoch", "start_step", "next_epoch"})
_OTHERS = ("load_state", "load_checkpoint", "resume_from_checkpoint", "set_optimizer_state_dict", "set_state_dict",
           "load_optimizer_state_dict")  # fmt: skip
"""Names of other ways to bring the whole state back."""


def without_optimizer(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield optimizers with a state of their own that stays in the past where weights and counter are restored."""
    calls = [(function, site) for function in job.project.functions for site in job.project.walk(function).sites]
    if job.mentions(*_OTHERS) or not any(canonical(s.node.func, f.script) == "torch.load" for f, s in calls):
        return
    loads = [(function, site) for function, site in calls if last(site.node.func) == "load_state_dict"]
    if not loads or any(_is_optimizer(function, site, job) for function, site in loads) or not _counts_on(job):
        return
    for function, site in calls:
        call = site.node
        if kinds.kind_of(call, function, job.project, call.lineno) == kinds.OPTIMIZER and _has_state(call):
            yield hit("script.resume-without-optimizer", function, call, optimizer=last(call.func))
            return


def _is_optimizer(function: Function, site: Site, job: ScriptContext) -> bool:
    owner = site.node.func.value if isinstance(site.node.func, ast.Attribute) else site.node
    name = last(owner).lower()
    kind = kinds.kind_of(owner, function, job.project, site.node.lineno)
    return "opt" in name or kind == kinds.OPTIMIZER or isinstance(owner, (ast.Subscript, ast.Call))


def _counts_on(job: ScriptContext) -> bool:
    """Whether a counter is read from something by its name, and not only to be printed: `state["epoch"]`."""
    for script in job.project.scripts:
        printed = {id(part) for node in script.nodes if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
        for node in script.nodes:
            if id(node) in printed:
                continue
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and constant(node.slice) in _COUNTERS:
                return True
            if (
                isinstance(node, ast.Call)
                and last(node.func) == "get"
                and constant(next(iter(node.args), None)) in _COUNTERS
            ):
                return True
    return False


def _has_state(call: ast.Call) -> bool:
    """SGD without momentum has none."""
    if last(call.func) != "SGD":
        return True
    momentum = keyword(call, "momentum")
    return momentum is not None and constant(momentum) != 0


RULES = (ScriptRule(ids=("script.resume-without-optimizer",), check=without_optimizer),)
