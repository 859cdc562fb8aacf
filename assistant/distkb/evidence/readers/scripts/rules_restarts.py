"""Runs that go on with the weights of a checkpoint and begin the data anew."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last, shown, words
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.project import Function

_OVER = "script.data-starts-over"
_SKIPS = ("skip_first_batches", "islice", "StatefulDataLoader", "use_stateful_dataloader", "start_epoch", "first_epoch",
          "starting_epoch", "epochs_done", "epochs_trained", "resume_step", "skip", "fast_forward", "initial_epoch",
          "begin_epoch", "set_progress")  # fmt: skip
_STEPS = frozenset({"step", "global_step", "iteration", "iter", "steps", "n_iter", "it"})


def starts_over(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield loops over epochs from zero where the number of steps done was brought back and is only counted on."""
    if not job.is_parallel or job.mentions(*_SKIPS):
        return
    for function in job.project.functions:
        for loop in (node for node in nodes(function.node) if isinstance(node, ast.For)):
            if not _from_zero(loop) or not _trains(loop):
                continue
            counter = _restored(function, job)
            if counter and counter not in words(loop.iter) and _is_counted(counter, loop, function, job):
                yield hit(_OVER, function, loop, counter=counter, loop=shown(loop.iter))
                return


def _from_zero(loop: ast.For) -> bool:
    over = loop.iter
    return isinstance(over, ast.Call) and last(over.func) == "range" and len(over.args) == 1


def _trains(loop: ast.For) -> bool:
    """Whether a loop has another one in it that makes a backward."""
    inner = (node for node in nodes(loop) if isinstance(node, ast.For) and node is not loop)
    return any(isinstance(part, ast.Call) and last(part.func) == "backward" for node in inner for part in nodes(node))


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


def _is_counted(counter: str, loop: ast.For, function: Function, job: ScriptContext) -> bool:
    """Whether a loop counts on, and nothing in it compares the counter with where the run was."""
    skips = (n for n in nodes(loop) if isinstance(n, ast.If) and any(isinstance(s, ast.Continue) for s in n.body))
    asked = {dotted(part) for node in skips for part in nodes(node.test)}
    return counter in job.project.walk(function).changes and counter not in asked


RULES = (ScriptRule(ids=(_OVER,), check=starts_over),)
