"""Steps that one rank leaves out by itself: after an error that it caught, or by giving Lightning no loss."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.blocks import LOOPS, statements
from distkb.evidence.readers.scripts.collectives import agrees
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import WITHOUT_GRADIENTS, constant, last, shown, walk
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.rules_decisions import to_backward

_MODULE = "script.module-by-own-batch"
_DROPPED, _NONE = "script.step-dropped-on-error", "script.step-without-loss"
_BROAD = frozenset({"Exception", "BaseException", "RuntimeError", "OutOfMemoryError", "ValueError", "AssertionError",
                    "FloatingPointError", "AcceleratorError"})  # fmt: skip
"""What a forward or a backward raises because of what a batch holds."""
_SEVERAL = ("devices", "num_nodes", "strategy", "gpus", "ddp")


def dropped(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield handlers that go on with the next batch where the forward or backward of a distributed model failed."""
    for function in job.project.functions if job.is_parallel else ():
        sites = [site for site in job.project.walk(function).sites if to_backward(site.node, function, job)]
        for node in walk(function.node) if sites else ():
            if not isinstance(node, ast.Try):
                continue
            tried = {id(part) for statement in node.body for part in nodes(statement)}
            step = next((site for site in sites if id(site.node) in tried and _is_step(site, tried, function)), None)
            for handler in node.handlers if step is not None else ():
                if _is_broad(handler) and not _answers(handler, function, job):
                    way = to_backward(step.node, function, job) if step is not None else ""
                    yield hit(_DROPPED, function, node, caught=_caught(handler), needs=way)
                    break


def _is_step(site: Site, tried: set[int], function: Function) -> bool:
    """Whether a call is made for one batch, and the block around it is tried anew for the next."""
    if not site.where.loops:
        return function.name.endswith("step")
    return id(site.where.loops[-1]) not in tried


def _is_broad(handler: ast.ExceptHandler) -> bool:
    named = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type] if handler.type else []
    return not named or any(last(one) in _BROAD for one in named)


def _caught(handler: ast.ExceptHandler) -> str:
    return "except" if handler.type is None else f"except {shown(handler.type)}"


def _answers(handler: ast.ExceptHandler, function: Function, job: ScriptContext) -> bool:
    """Whether a handler ends the process, tells the other ranks, or makes a backward in place of the failed one."""
    for statement in handler.body:
        for node in nodes(statement):
            if isinstance(node, ast.Raise) or (isinstance(statement, ast.Break) and node is statement):
                return True
            if isinstance(node, ast.Assert) or (isinstance(node, ast.Call) and last(node.func).startswith("assert")):
                return True
            if isinstance(node, ast.Call):
                ends = last(node.func) in {"exit", "_exit", "abort", "destroy_process_group"}
                if ends or agrees(node, function, job.project) or to_backward(node, function, job):
                    return True
    return False


def without_loss(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield returns of nothing from Lightning's `training_step` that depend on the rank's own batch."""
    if not job.mentions(*_SEVERAL):
        return
    for function in job.project.functions:
        is_step = function.name.endswith(".training_step")
        if not is_step or not any(last(base).endswith("Module") for base in function.bases):
            continue
        for statement, arms in statements(function.node.body):
            if not isinstance(statement, ast.Return) or not _is_nothing(statement):
                continue
            tests = [arm.node.test for arm in reversed(arms) if isinstance(arm.node, (ast.If, *LOOPS[2:]))]
            test = next((one for one in tests if _is_own(one, function, job)), None)
            if test is not None:
                yield hit(_NONE, function, statement, test=shown(test))


def _is_nothing(statement: ast.Return) -> bool:
    return statement.value is None or constant(statement.value) is None


def _is_own(test: ast.expr, function: Function, job: ScriptContext) -> bool:
    found = {reason.origin for reason in job.origins.of_amounts(test, function)}
    return bool(found & {"batch", "measure", "part"}) and "agreed" not in found


def module_left_out(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield forwards of a DDP module of its own, in training, that the rank makes only where its batch needs them."""
    if not job.mentions("DistributedDataParallel"):
        return
    for function, site in job.sites():
        call = site.node
        if not site.where.tests or site.where.side != "both" or site.where.entered & WITHOUT_GRADIENTS:
            continue
        if kinds.kind_of(call.func, function, job.project, call.lineno) != kinds.DDP:
            continue
        test = next((one for one in site.where.tests if _asks_batch(one, function, job)), None)
        if test is not None:
            yield hit(_MODULE, function, call, module=shown(call.func), test=shown(test))


def _asks_batch(test: ast.expr, function: Function, job: ScriptContext) -> bool:
    """Whether a test asks what a batch holds: how much of it, or whether a part is there at all."""
    there = isinstance(test, ast.Compare) and isinstance(test.left, ast.Subscript)
    found = job.origins.of(test, function) if there else job.origins.of_amounts(test, function)
    origins = {reason.origin for reason in found}
    return "batch" in origins and "agreed" not in origins


RULES = (
    ScriptRule(ids=(_MODULE,), check=module_left_out),
    ScriptRule(ids=(_DROPPED,), check=dropped),
    ScriptRule(ids=(_NONE,), check=without_loss),
)
