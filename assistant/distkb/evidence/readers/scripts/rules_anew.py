"""State that a checkpoint brought back and that is lost again: made anew, loaded too early, or never in the file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import keyword, receiver
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import meanings
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last, shown
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.rules_decisions import to_backward

_ANEW, _EARLY = "script.made-anew-after-restore", "script.state-loaded-before-prepare"
_BUFFERS = "script.checkpoint-without-buffers"
_NORMS = re.compile(r"^(?:BatchNorm[123]d|SyncBatchNorm|resnet\d+|InstanceNorm[123]d)$")
_DEPTH = 3
"""Methods in one another that are followed."""


def made_anew(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield optimizers and schedules that are made again when their state has been loaded."""
    for function in job.project.functions if job.mentions("load_state_dict") else ():
        yield from _in_function(function, job)
        yield from _by_methods(function, job)


def _in_function(function: Function, job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield what is loaded into and assigned again below in one function."""
    walk = job.project.walk(function)
    for site in walk.sites:
        func = site.node.func
        if not isinstance(func, ast.Attribute) or func.attr != "load_state_dict" or not dotted(func.value):
            continue
        for made in walk.assigned(dotted(func.value)):
            same = made.where.tests == site.where.tests[: len(made.where.tests)]
            after = made.line > site.node.lineno and made.where.loops == site.where.loops and same
            if after and _is_of_optim(made.value, function) and not _used_between(walk.sites, func, site, made.line):
                yield hit(_ANEW, function, made.value, name=dotted(func.value), restores=shown(func),
                          restore_line=str(site.node.lineno), made=shown(made.value))  # fmt: skip
                return


def _used_between(sites: list[Site], func: ast.Attribute, load: Site, line: int) -> bool:
    """Whether what was loaded is stepped before a line, or a state is loaded again below it."""
    owner = dotted(func.value)
    for one in sites:
        called = one.node.func
        if isinstance(called, ast.Attribute) and dotted(called.value) == owner and one is not load:
            again = called.attr == "load_state_dict" and one.node.lineno > line
            if again or (called.attr == "step" and load.node.lineno < one.node.lineno < line):
                return True
    return False


def _is_of_optim(value: ast.expr, function: Function) -> bool:
    return isinstance(value, ast.Call) and canonical(value.func, function.script).startswith("torch.optim.")


def _by_methods(function: Function, job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield a method that makes anew what a method called above it on the same object has restored."""
    sites = [site for site in job.project.walk(function).sites if isinstance(site.node.func, ast.Attribute)]
    for number, site in enumerate(sites):
        restore = job.project.target(site.node, function)
        restored = _restored(restore, job, 0) if restore is not None else {}
        for later in sites[number + 1 :] if restored else ():
            target = job.project.target(later.node, function)
            if target is None or _owner(later) != _owner(site) or later.where.loops != site.where.loops:
                continue
            again = _restored(target, job, 0)
            for name, line in restored.items():
                place = None if name in again else _makes(target, later.node, function, name, job, 0)
                if place is not None:
                    yield hit(_ANEW, place[1], place[0], name=name, restores=shown(site.node.func),
                              restore_line=line, made=shown(place[0]))  # fmt: skip
                    return
            if to_backward(later.node, function, job):
                break


def _owner(site: Site) -> str:
    return dotted(site.node.func.value) if isinstance(site.node.func, ast.Attribute) else ""


def _restored(function: Function, job: ScriptContext, depth: int) -> dict[str, str]:
    """Return the attributes of the object into which a method loads a state, with the line."""
    found: dict[str, str] = {}
    for site in job.project.walk(function).sites if function.owner is not None else ():
        func = site.node.func
        if (
            isinstance(func, ast.Attribute)
            and func.attr == "load_state_dict"
            and dotted(func.value).startswith("self.")
        ):
            found[dotted(func.value)] = str(site.node.lineno)
        elif depth < _DEPTH and dotted(func).startswith("self."):
            target = job.project.target(site.node, function)
            found |= _restored(target, job, depth + 1) if target is not None and target is not function else {}
    return found


def _makes(
    function: Function, call: ast.Call, caller: Function, name: str, job: ScriptContext, depth: int
) -> tuple[ast.Call, Function] | None:
    """Return the call, and where it stands, by which a method is run that makes an attribute whatever it holds."""
    walk = job.project.walk(function)
    for made in walk.assigned(name):
        if not made.where.decided and not made.where.loops and _is_of_optim(made.value, function):
            return call, caller
    for site in walk.sites if depth < _DEPTH else ():
        target = job.project.target(site.node, function)
        if target is None or target.owner is not function.owner or site.where.decided or target is function:
            continue
        found = _makes(target, site.node, function, name, job, depth + 1)
        if found is not None:
            return found
    return None


def loaded_early(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield states that an Accelerator loads before anything is prepared, so that it loads them into nothing."""
    if not job.mentions("Accelerator") or not job.mentions("load_state"):
        return
    for function in job.project.functions:
        sites = job.project.walk(function).sites
        prepares = [one for one in sites if last(one.node.func) == "prepare" and one.node.args]
        prepares = [one for one in prepares if _is_accelerator(one, function, job)]
        made = [s for s in sites if canonical(s.node.func, function.script).endswith("Accelerator")]
        loads = [site for site in sites if _loads_state(site.node, function, job)]
        if not prepares or not made or len(loads) != 1:
            continue
        first, load = prepares[0].node.lineno, loads[0]
        if load.node.lineno < first:
            yield hit(_EARLY, function, load.node, call=shown(load.node.func), prepare_line=str(first))


def _is_accelerator(site: Site, function: Function, job: ScriptContext) -> bool:
    owner = receiver(site.node) or site.node
    return kinds.kind_of(owner, function, job.project, site.node.lineno) == kinds.ACCELERATOR


def _loads_state(call: ast.Call, function: Function, job: ScriptContext) -> bool:
    """Whether a call loads an Accelerator's state, itself or in the function of the project that it runs."""
    if last(call.func) == "load_state":
        return True
    called = {last(site.node.func) for _, site in job.project.below(call, function)}
    return "load_state" in called and "prepare" not in called


def without_buffers(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield checkpoints that hold the parameters of a model with BatchNorm by name, and none of its statistics."""
    if not any(_NORMS.match(word) for word in job.vocabulary) or job.mentions("named_buffers", "buffers"):
        return
    loose = any(
        last(call.func) == "load_state_dict" and constant(keyword(call, "strict")) is False for _, call in job.calls()
    )
    for function, call in job.calls() if loose else ():
        if canonical(call.func, function.script) != "torch.save" or not call.args:
            continue
        for value, scope in meanings(call.args[0], function, job.project):
            parts = value.values if isinstance(value, ast.Dict) else [value]
            for part in parts:
                for inner, place in meanings(part, scope, job.project):
                    if _is_of_parameters(inner):
                        yield hit(_BUFFERS, place, inner, what=shown(inner), save_line=str(call.lineno))
                        return


def _is_of_parameters(node: ast.expr) -> bool:
    """Whether a dictionary holds all parameters of a model under their names, and nothing else."""
    if isinstance(node, ast.Call) and last(node.func) == "dict" and node.args:
        return isinstance(node.args[0], ast.Call) and last(node.args[0].func) == "named_parameters"
    if not isinstance(node, ast.DictComp) or len(node.generators) != 1 or node.generators[0].ifs:
        return False
    return any(
        isinstance(part, ast.Call) and last(part.func) == "named_parameters" for part in nodes(node.generators[0].iter)
    )


RULES = (
    ScriptRule(ids=(_ANEW,), check=made_anew),
    ScriptRule(ids=(_EARLY,), check=loaded_early),
    ScriptRule(ids=(_BUFFERS,), check=without_buffers),
)
