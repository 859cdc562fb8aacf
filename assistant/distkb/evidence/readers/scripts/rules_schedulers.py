"""Ranks that are taken from the scheduler's or MPI's variables before those of the launcher that starts the ranks."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import constant, walk
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.ranks import environment

_FIRST = "script.scheduler-before-launcher"
_OTHERS = ("SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")
_RANK = "RANK"
_KNOWS = ("TORCHELASTIC_RUN_ID", "is_torchelastic_launched", "TORCHELASTIC_RESTART_COUNT", "GROUP_RANK")
"""Names that show that a script looks whether torchrun has started it."""


def first(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield choices of the rank in which a variable of Slurm's or MPI's goes before `RANK`."""
    if not job.mentions(*_OTHERS) or not job.mentions(_RANK) or job.mentions(*_KNOWS):
        return
    for function in job.project.functions:
        parts = list(walk(function.node))
        asked = [n.lineno for n in parts if isinstance(n, ast.If) and _RANK in {_read(p) for p in nodes(n.test)}]
        for node in parts:
            name = _preferred(node)
            if name and isinstance(node, (ast.expr, ast.stmt)) and all(line >= node.lineno for line in asked):
                yield hit(_FIRST, function, node, name=name)


def _preferred(node: ast.AST) -> str:
    """Return the variable that a branch, an `or`, a default or a list of names takes before `RANK`."""
    ways: list[list[ast.AST]] = []
    if isinstance(node, ast.If):
        if not node.orelse or not _tested(node.test):
            return ""
        ways = [[node.test], [p for part in node.orelse for p in nodes(part)]]
    elif isinstance(node, ast.IfExp) and _tested(node.test):
        ways = [[node.test], nodes(node.orelse)]
    elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
        ways = [nodes(value) for value in node.values]
    elif isinstance(node, ast.Call) and environment(node) and len(node.args) > 1:
        ways = [[node], nodes(node.args[1])]
    elif isinstance(node, ast.For) and isinstance(node.iter, (ast.Tuple, ast.List)):
        ways = [[one] for one in node.iter.elts]
    read = [{_read(part) for part in way} - {""} for way in ways]
    before = next((name for name in _OTHERS if read and name in read[0]), "")
    return before if before and _RANK not in read[0] and any(_RANK in names for names in read[1:]) else ""


def _tested(test: ast.expr) -> bool:
    """Whether a test asks for one variable only and for nothing else."""
    return isinstance(test, (ast.Compare, ast.Call, ast.Subscript)) and _read(test) in _OTHERS


def _read(node: ast.AST) -> str:
    """Return the variable that is read or looked for here: `os.environ["RANK"]`, `"RANK" in os.environ`."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        if isinstance(node.ops[0], ast.In):
            return str(constant(node.left)) if isinstance(node.left, ast.Constant) else ""
        return environment(node.left) if isinstance(node.ops[0], (ast.IsNot, ast.NotEq)) else ""
    if isinstance(node, ast.Constant) and node.value in {*_OTHERS, _RANK}:
        return str(node.value)
    return environment(node)


RULES = (ScriptRule(ids=(_FIRST,), check=first),)
