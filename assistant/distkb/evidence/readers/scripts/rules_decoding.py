"""Text that a sharded model writes: every forward needs all ranks, and each rank stops where its own text ends."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import keyword
from distkb.evidence.readers.scripts.blocks import exits, statements
from distkb.evidence.readers.scripts.collectives import TOGETHER, agrees
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import constant, dotted, last, shown, words
from distkb.evidence.readers.scripts.nodes import nodes, targets_of

_DECODED, _GENERATED = "script.decoding-ends-alone", "script.generate-not-synced"
_JOINS = frozenset({"cat", "concat", "hstack"})
_ROUNDS = 3
"""Assignments in one another through which an output is followed to a test."""


def decoding(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield loops that append token after token with a sharded model until the rank's own output says that it ends."""
    for function in job.project.functions:
        told: set[int] = set()
        for site in job.project.walk(function).sites:
            loop = site.where.loops[-1] if site.where.loops else None
            if loop is None or id(loop) in told or not any(_appends(node) for node in nodes(loop)):
                continue
            if not kinds.is_sharded(site.node.func, function, job.project, site.node.lineno):
                continue
            told.add(id(loop))
            if any(isinstance(part, ast.Call) and _agrees(part, function, job) for part in nodes(loop)):
                continue
            test = next((one for one in _ways_out(loop) if _follows_from(one, site.node, loop)), None)
            if test is not None:
                yield hit(_DECODED, function, test, test=shown(test), needs=f"{shown(site.node.func)}()")


def _agrees(call: ast.Call, function: Function, job: ScriptContext) -> bool:
    """Whether the ranks bring something together in a call, also in a function that it runs."""
    if agrees(call, function, job.project):
        return True
    return any(need.category in TOGETHER for need in job.effects.of_call(call, function))


def _appends(node: ast.AST) -> bool:
    """Whether an assignment makes something longer: `ids = torch.cat([ids, token], 1)`."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call) or last(node.value.func) not in _JOINS:
        return False
    return dotted(node.targets[0]) in {dotted(part) for part in nodes(node.value)} - {""}


def _ways_out(loop: ast.stmt) -> Iterator[ast.expr]:
    if isinstance(loop, ast.While):
        yield loop.test
    for arms in exits(loop, leaving=True):
        yield from (arm.node.test for arm in arms if isinstance(arm.node, ast.If))


def _follows_from(test: ast.expr, call: ast.Call, loop: ast.stmt) -> bool:
    """Whether a test asks for something that is made, through names, of what a call gives."""
    made: set[str] = set()
    for _ in range(_ROUNDS):
        for statement, _arms in statements(getattr(loop, "body", [])):
            value = getattr(statement, "value", None)
            if isinstance(statement, (ast.Assign, ast.AugAssign)) and isinstance(value, ast.expr):
                parts = list(nodes(value))
                if any(part is call for part in parts) or {dotted(part) for part in parts} & made:
                    targets = targets_of(statement)
                    made |= {dotted(part) for target in targets for part in nodes(target)} - {"", "self"}
    return bool(words(test) & made)


def generated(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield `generate` of a sharded model that may end after other numbers of tokens on other ranks."""
    if job.mentions("synced_gpus"):
        return
    for function, site in job.sites():
        call = site.node
        named = call.func
        if not isinstance(named, ast.Attribute) or named.attr != "generate" or keyword(call, "synced_gpus"):
            continue
        if _runs_to_the_end(call) or not _is_sharded(named.value, function, call.lineno, job):
            continue
        if not _whole(site.where.blocks):
            yield hit(_GENERATED, function, call, call=shown(named))


def _runs_to_the_end(call: ast.Call) -> bool:
    """Whether every text gets as many tokens: a least number that is the greatest too."""
    least, most = keyword(call, "min_new_tokens"), keyword(call, "max_new_tokens")
    return least is not None and most is not None and ast.dump(least) == ast.dump(most)


def _whole(blocks: tuple[ast.expr, ...]) -> bool:
    """Whether all parameters are there inside of a block, below the root too."""
    for block in blocks:
        if isinstance(block, ast.Call) and last(block.func) in {"summon_full_params", "GatheredParameters"}:
            return constant(keyword(block, "recurse")) is not False
        if isinstance(block, ast.Call) and last(block.func).startswith("unwrap_model"):
            return True
    return False


def _is_sharded(node: ast.expr, function: Function, line: int, job: ScriptContext) -> bool:
    """Whether something is a model of which each rank holds a part, or the module inside of one."""
    inner = node.value if isinstance(node, ast.Attribute) and node.attr == "module" else node
    if isinstance(inner, ast.Call) and last(inner.func) == "unwrap_model" and inner.args:
        inner = inner.args[0]
    if kinds.is_sharded(inner, function, job.project, line):
        return True
    return kinds.kind_of(inner, function, job.project, line) == kinds.ENGINE and job.project.declared.has_third_stage


RULES = (
    ScriptRule(ids=(_DECODED,), check=decoding),
    ScriptRule(ids=(_GENERATED,), check=generated),
)
