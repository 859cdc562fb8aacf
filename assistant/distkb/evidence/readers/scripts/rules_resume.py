"""What a script that goes on from a checkpoint leaves behind in it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import keyword, positional, receiver
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import Made, maker
from distkb.evidence.readers.scripts.names import canonical, constant, last

_COUNTERS = frozenset({"step", "epoch", "global_step", "iteration", "iter", "start_epoch", "start_step", "next_epoch"})
_OTHERS = ("load_state", "load_checkpoint", "resume_from_checkpoint", "set_optimizer_state_dict", "set_state_dict",
           "load_optimizer_state_dict")  # fmt: skip
"""Names of other ways to bring the whole state back."""


def without_optimizer(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield optimizers with a state of their own that stays in the past where weights and counter are restored."""
    calls = list(job.sites())
    if job.mentions(*_OTHERS) or not any(canonical(s.node.func, f.script) == "torch.load" for f, s in calls):
        return
    loads = [(function, site) for function, site in calls if last(site.node.func) == "load_state_dict"]
    if not loads or any(_is_optimizer(function, site, job) for function, site in loads) or not _counts_on(job):
        return
    if any(_puts_state(node) for script in job.project.scripts for node in script.nodes):
        return
    for function, site in calls:
        call = site.node
        if kinds.kind_of(call, function, job.project, call.lineno) == kinds.OPTIMIZER and _has_state(call):
            yield hit("script.resume-without-optimizer", function, call, optimizer=last(call.func))
            return


def _is_optimizer(function: Function, site: Site, job: ScriptContext) -> bool:
    owner = receiver(site.node) or site.node
    name = last(owner).lower()
    kind = kinds.kind_of(owner, function, job.project, site.node.lineno)
    return "opt" in name or kind == kinds.OPTIMIZER or isinstance(owner, ast.Subscript) or _is_open(owner)


def _puts_state(node: ast.AST) -> bool:
    """`optimizer.state[p] = …`: the state comes back piece by piece."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Store):
        return False
    return isinstance(node.value, ast.Attribute) and node.value.attr == "state"


def _is_open(owner: ast.expr) -> bool:
    """Whether something is loaded that a call gives, which is no model."""
    return isinstance(owner, ast.Call) and last(owner.func) not in {"unwrap_model", "get_base_model", "module"}


_COUNTS = re.compile(r"(?i)^(?:\w+_)?(?:epoch|step|iteration|iter)$|epochs?_(?:run|done)|steps_done")


def _is_counter(key: object) -> bool:
    return isinstance(key, str) and (key in _COUNTERS or _COUNTS.search(key) is not None)


def _counts_on(job: ScriptContext) -> bool:
    """Whether a counter is read from something by its name, and not only to be printed: `state["epoch"]`."""
    for script in job.project.scripts:
        printed = {id(part) for node in script.nodes if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
        for node in script.nodes:
            if id(node) in printed:
                continue
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and _is_counter(constant(node.slice)):
                return True
            if isinstance(node, ast.Call) and last(node.func) == "get" and _is_counter(constant(positional(node, 0))):
                return True
    return False


def _has_state(call: ast.Call) -> bool:
    """SGD without momentum has none."""
    if last(call.func) != "SGD":
        return True
    momentum = keyword(call, "momentum")
    return momentum is not None and constant(momentum) != 0


def without_schedule(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield schedules that begin anew where weights, optimizer and counter are restored."""
    if job.mentions(*_OTHERS) or job.mentions("last_epoch") or not _counts_on(job):
        return
    calls = list(job.sites())
    loads = [(function, site) for function, site in calls if last(site.node.func) == "load_state_dict"]
    restored = [one for one in loads if _is_optimizer(*one, job) and not isinstance(_owner(one[1]), ast.Subscript)]
    if not restored or any(_SCHEDULES.search(last(_owner(s))) and not _is_left_out(f, s, job) for f, s in loads):
        return
    if any(isinstance(_owner(site), ast.Subscript) for _, site in loads):
        return
    for function, site in calls:
        owner = _owner(site)
        if last(site.node.func) == "step" and site.where.loops and _SCHEDULES.search(last(owner)):
            made = maker(owner, function, job.project, site.node.lineno)
            if made is not None and not made.prepared and _is_schedule(made):
                yield hit("script.resume-without-schedule", function, site.node, schedule=last(made.call.func))
                return


_SCHEDULES = re.compile(r"(?i)sched")


def _owner(site: Site) -> ast.expr:
    return receiver(site.node) or site.node


def _is_schedule(made: Made) -> bool:
    full = canonical(made.call.func, made.function.script)
    return "lr_scheduler" in full or full.rpartition(".")[2].startswith("get_")


def _is_left_out(function: Function, site: Site, job: ScriptContext) -> bool:
    """Whether a schedule is loaded only where a caller gives it, and no caller does."""
    name = last(_owner(site))
    if name not in function.parameters or constant(function.default(name)) is not None:
        return False
    return bool(job.project.callers(function)) and not any(True for _ in job.project.given(name, function))


RULES = (
    ScriptRule(ids=("script.resume-without-optimizer",), check=without_optimizer),
    ScriptRule(ids=("script.resume-without-schedule",), check=without_schedule),
)
