"""Runs that go on with the weights of a checkpoint and begin the data anew."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import arguments
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last, shown, words
from distkb.evidence.readers.scripts.nodes import nodes

_OVER = "script.data-starts-over"
_SKIPS = ("skip_first_batches", "islice", "StatefulDataLoader", "use_stateful_dataloader", "start_epoch", "first_epoch",
          "starting_epoch", "epochs_done", "epochs_trained", "resume_step", "skip", "fast_forward", "initial_epoch",
          "begin_epoch", "set_progress")  # fmt: skip
_PLACES = re.compile(r"(?i)load|sampl|data|skip|iter|stream|batch|seek|position|divmod")
"""Names that show that a place in the data is made of a number."""
_STEPS = frozenset({"step", "global_step", "iteration", "iter", "steps", "n_iter", "it"})


def starts_over(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield loops over epochs from zero where the number of steps done was brought back and is only counted on."""
    if not job.is_parallel or job.mentions(*_SKIPS):
        return
    for function in job.project.functions:
        for loop in (node for node in nodes(function.node) if isinstance(node, (ast.For, ast.While))):
            batches = _trains(loop)
            if batches is None:
                continue
            counter = _restored(function, job)
            if not counter or not _is_counted(counter, loop, function, job):
                continue
            if isinstance(loop, ast.While):
                if not _goes_on(loop, counter, function, job):
                    yield hit(_OVER, function, loop, counter=counter, loop=shown(batches.iter))
                    return
            elif _from_zero(loop) and counter not in words(loop.iter):
                yield hit(_OVER, function, loop, counter=counter, loop=shown(loop.iter))
                return


def _goes_on(loop: ast.While, counter: str, function: Function, job: ScriptContext) -> bool:
    """Whether anything but the counter of steps, in front of a loop, comes from where the run was."""
    walk = job.project.walk(function)
    for site in walk.sites:
        given = arguments(site.node)
        if site.node.lineno >= loop.lineno or all(dotted(one) != counter for one in given):
            continue
        if _PLACES.search(shown(site.statement)):
            return True
    for name, changes in walk.changes.items():
        inside = any(loop in change.where.loops for change in changes)
        own = function.owner.methods.values() if name.startswith("self.") and function.owner is not None else ()
        made = [
            *walk.assigned(name, before=loop.lineno),
            *(one for m in own for one in job.project.walk(m).assigned(name)),
        ]
        made = made if inside and name != counter else []
        if any(not isinstance(one.value, ast.Constant) for one in made):
            return True
    return any(counter in words(one.value) and one.index is not None
               for one in walk.assignments if one.line < loop.lineno)  # fmt: skip


def _from_zero(loop: ast.For) -> bool:
    over = loop.iter
    if not isinstance(over, ast.Call):
        return False
    return (last(over.func) == "range" and len(over.args) == 1) or (last(over.func) == "count" and not over.args)


def _trains(loop: ast.For | ast.While) -> ast.For | None:
    """Return the loop in a loop that makes a backward."""
    for inner in (node for node in nodes(loop) if isinstance(node, ast.For) and node is not loop):
        if any(isinstance(part, ast.Call) and last(part.func) == "backward" for part in nodes(inner)):
            return inner
    return None


def _restored(function: Function, job: ScriptContext) -> str:
    """Return the counter of steps that is read from a checkpoint, in a function or in the methods of its object."""
    owner = function.owner
    for scope in owner.methods.values() if owner is not None else (function,):
        walk = job.project.walk(scope)
        loads = any(
            canonical(site.node.func, scope.script) == "torch.load" or last(site.node.func) == "load_state"
            for site in walk.sites
        )
        for made in walk.assignments if loads else ():
            if _last_part(made.target) in _STEPS and not isinstance(made.value, ast.Constant):
                keys = {constant(part.slice) for part in nodes(made.value) if isinstance(part, ast.Subscript)}
                texts = any(last(part.func) == "split" for part in nodes(made.value) if isinstance(part, ast.Call))
                if keys & _STEPS or texts:
                    return made.target
    return ""


def _last_part(name: str) -> str:
    """Return `step` of `self.step`."""
    return name.rpartition(".")[2]


def _is_counted(counter: str, loop: ast.For | ast.While, function: Function, job: ScriptContext) -> bool:
    """Whether a loop counts on, and nothing in it compares the counter with where the run was."""
    skips = (n for n in nodes(loop) if isinstance(n, ast.If) and any(isinstance(s, ast.Continue) for s in n.body))
    tests = [part for node in skips for part in nodes(node.test)]
    if any(isinstance(part, ast.Compare) and isinstance(part.ops[0], (ast.Lt, ast.LtE)) for part in tests):
        return False
    asked = {dotted(part) for part in tests}
    return counter in job.project.walk(function).changes and counter not in asked


RULES = (ScriptRule(ids=(_OVER,), check=starts_over),)
