"""Which ranks take which branch: tests such as `rank == 0`, `not is_main_process()`, `local_rank in (-1, 0)`."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from typing import Literal

from distkb.evidence.readers.scripts.names import dotted, last

Side = Literal["main", "other", "both"]
"""The ranks that run a statement: the main one only, all the others only, or (as far as can be seen) every rank."""
Lookup = Callable[[ast.expr], ast.expr | None]
"""Returns the only value that is assigned to a name or attribute, or None."""

FLAGS = frozenset(
    {
        "is_main_process",
        "is_main",
        "is_local_main_process",
        "is_main_rank",
        "is_main_proc",
        "main_process",
        "is_master",
        "is_master_process",
        "is_master_rank",
        "is_master_proc",
        "is_local_master",
        "is_global_master",
        "master_process",
        "is_primary",
        "is_global_primary",
        "is_local_primary",
        "is_rank_zero",
        "is_rank_0",
        "is_rank0",
        "is_global_zero",
        "is_world_process_zero",
        "is_local_process_zero",
        "is_process_zero",
        "is_first_rank",
        "is_chief",
        "is_global_rank_zero",
        "is_local_rank_zero",
        "rank_zero",
        "am_i_master",
    }
)
RANKS = frozenset(
    {
        "rank",
        "local_rank",
        "global_rank",
        "world_rank",
        "ddp_rank",
        "ddp_local_rank",
        "process_index",
        "local_process_index",
        "proc_rank",
        "process_rank",
        "dist_rank",
        "gpu_rank",
    }
)
RANK_CALLS = frozenset({"get_rank", "get_local_rank", "get_global_rank", "get_world_rank", "local_rank", "global_rank"})
ENVIRONMENT = frozenset({"RANK", "LOCAL_RANK", "SLURM_PROCID", "SLURM_LOCALID", "OMPI_COMM_WORLD_RANK"})
GATES = frozenset(
    {
        "rank_zero_only",
        "on_main_process",
        "on_local_main_process",
        "main_process_only",
        "master_only",
        "rank0_only",
        "main_only",
    }
)
"""Decorators of functions whose body only one rank runs."""
_ON = re.compile(
    r"(?:is_|use_|run_|do_)?(?:distributed|ddp|multi_gpu|multiprocessing_distributed|dist)(?:_run|_training|_mode|_enabled)?"
)
_ON_CALLS = frozenset(
    {
        "is_initialized",
        "is_available",
        "is_dist_avail_and_initialized",
        "is_distributed",
        "is_dist_initialized",
        "is_torch_distributed_initialized",
        "distributed_is_initialized",
        "is_dist_available_and_initialized",
        "is_dist_on",
        "is_torchelastic_launched",
    }
)
_SIZES = frozenset({"world_size", "num_processes", "n_processes", "nprocs", "num_replicas", "ddp_world_size"})
_SIZE_CALLS = frozenset({"get_world_size"})
_DEPTH = 12


def is_rank(node: ast.AST, lookup: Lookup | None = None, depth: int = 0) -> bool:
    """Whether an expression is the number of this rank, global or local."""
    if depth > _DEPTH:
        return False
    inner: ast.AST | None = None
    if isinstance(node, (ast.Name, ast.Attribute)):
        if last(node).lower() in RANKS:
            return True
        inner, depth = (lookup(node) if lookup else None), depth + 2
    elif isinstance(node, ast.NamedExpr):
        inner = node.value
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        inner = node.left
    elif isinstance(node, ast.Call):
        if last(node.func) in RANK_CALLS and not node.args and not node.keywords:
            return True
        inner = node.args[0] if last(node.func) in {"int", "str"} and len(node.args) == 1 else None
    return environment(node) in ENVIRONMENT if inner is None else is_rank(inner, lookup, depth + 1)


def environment(node: ast.AST) -> str:
    """Return the name of the environment variable that an expression reads, or an empty string."""
    key: ast.AST | None = None
    if isinstance(node, ast.Subscript) and dotted(node.value).endswith("environ"):
        key = node.slice
    elif isinstance(node, ast.Call) and node.args:
        name = dotted(node.func)
        if name.endswith(("environ.get", "getenv")):
            key = node.args[0]
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else ""


_OF_SHARDED = frozenset({"full_tensor", "to_local", "redistribute"})
"""Methods of DTensors: a script that asks for them shards something."""


def assumed(test: ast.expr, depth: int = 0) -> bool | None:
    """Return what a test says in a distributed run (`world_size > 1` is True); None where that does not decide it."""
    answer: bool | None = None
    if depth > _DEPTH:
        return None
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = assumed(test.operand, depth + 1)
        answer = None if inner is None else not inner
    elif isinstance(test, ast.BoolOp):
        values = [assumed(value, depth + 1) for value in test.values]
        deciding = not isinstance(test.op, ast.And)
        answer = deciding if deciding in values else None if None in values else not deciding
    elif isinstance(test, ast.Compare) and len(test.ops) == 1:
        answer = _assumed_comparison(test.left, test.ops[0], test.comparators[0])
    elif isinstance(test, ast.Call):
        if last(test.func) == "bool" and len(test.args) == 1:
            answer = assumed(test.args[0], depth + 1)
        elif last(test.func) == "hasattr" and len(test.args) == 2:
            answer = True if isinstance(test.args[1], ast.Constant) and test.args[1].value in _OF_SHARDED else None
        elif last(test.func) in _ON_CALLS and not dotted(test.func).startswith("torch.cuda"):
            answer = True
    elif isinstance(test, (ast.Name, ast.Attribute)) and _ON.fullmatch(last(test).lower()):
        answer = True
    return answer


def _assumed_comparison(left: ast.expr, comparison: ast.cmpop, right: ast.expr) -> bool | None:
    if isinstance(left, ast.Name) and left.id == "__name__":
        return True
    number = _number(right)
    if _is_size(left) and number is not None:
        return _holds(2, comparison, number) if _holds(2, comparison, number) == _holds(8, comparison, number) else None
    if is_rank(left):
        if isinstance(right, ast.Constant) and right.value is None:
            return isinstance(comparison, (ast.IsNot, ast.NotEq))
        if number is not None:
            answers = {_holds(rank, comparison, number) for rank in (0, 1, 7)}
            return answers.pop() if len(answers) == 1 and number < 0 else None
    return None


def _is_size(node: ast.expr) -> bool:
    return last(node).lower() in _SIZES or (isinstance(node, ast.Call) and last(node.func) in _SIZE_CALLS)


def _number(node: ast.expr) -> int | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.Constant):
        if isinstance(node.value, int) and not isinstance(node.value, bool):
            return node.value
        if isinstance(node.value, str) and node.value.isdecimal() and len(node.value) < 6:
            return int(node.value)
    return None


_COMPARED: dict[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Eq: operator.eq,
    ast.Is: operator.eq,
    ast.NotEq: operator.ne,
    ast.IsNot: operator.ne,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
}


def _holds(value: int, comparison: ast.cmpop, other: int) -> bool | None:
    compare = _COMPARED.get(type(comparison))
    return None if compare is None else compare(value, other)


def sides(test: ast.expr, lookup: Lookup | None = None, depth: int = 0) -> tuple[Side, Side]:
    """Return which ranks come into the branch where the test holds, and into the one where it does not."""
    found: tuple[Side, Side] = ("both", "both")
    if depth > _DEPTH:
        return found
    if isinstance(test, ast.NamedExpr):
        found = sides(test.value, lookup, depth + 1)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        then, otherwise = sides(test.operand, lookup, depth + 1)
        found = ("main", "other") if is_rank(test.operand, lookup) else (otherwise, then)
    elif isinstance(test, ast.BoolOp):
        found = _joint(test, lookup, depth)
    elif isinstance(test, ast.Compare) and len(test.ops) == 1:
        found = _compared(test.left, test.ops[0], test.comparators[0], lookup)
    elif isinstance(test, (ast.Call, ast.Name, ast.Attribute)):
        found = _named(test, lookup, depth)
    return found


def _named(test: ast.Call | ast.Name | ast.Attribute, lookup: Lookup | None, depth: int) -> tuple[Side, Side]:
    """Return the sides of `is_main_process`, called or not, and of variables that hold such a test."""
    name = last(test.func) if isinstance(test, ast.Call) else last(test)
    if name.lstrip("_").lower() in FLAGS:
        return "main", "other"
    if isinstance(test, ast.Call):
        is_bool = name == "bool" and len(test.args) == 1
        return sides(test.args[0], lookup, depth + 1) if is_bool else ("both", "both")
    value = lookup(test) if lookup else None
    return sides(value, lookup, depth + 3) if value is not None else ("both", "both")


def _joint(test: ast.BoolOp, lookup: Lookup | None, depth: int) -> tuple[Side, Side]:
    """`and`: the branch taken belongs to the ranks that every part lets in. `or`: the same for the branch not taken.

    Parts that are settled in a distributed run (`world_size > 1 and …`) do not count.
    """
    is_and = isinstance(test.op, ast.And)
    parts = [sides(v, lookup, depth + 1) for v in test.values if assumed(v) is not is_and]
    if not parts:
        return "both", "both"
    if len(parts) == 1:
        return parts[0]
    strict = {part[0] if is_and else part[1] for part in parts} - {"both"}
    loose = {part[1] if is_and else part[0] for part in parts}
    one: Side = strict.pop() if len(strict) == 1 else "both"
    other: Side = loose.pop() if len(loose) == 1 else "both"
    return (one, other) if is_and else (other, one)


def _compared(left: ast.expr, comparison: ast.cmpop, right: ast.expr, lookup: Lookup | None) -> tuple[Side, Side]:
    if not is_rank(left, lookup) and isinstance(comparison, (ast.Eq, ast.NotEq)):
        left, right = right, left
    if not is_rank(left, lookup):
        return "both", "both"
    if isinstance(comparison, (ast.In, ast.NotIn)):
        numbers = {_number(element) for element in getattr(right, "elts", ())}
        is_main = 0 in numbers and numbers <= {-1, 0}
        first, rest = isinstance(comparison, ast.In), {isinstance(comparison, ast.NotIn)}
    else:
        number = _number(right)
        is_main = number is not None
        first = bool(is_main and _holds(0, comparison, number or 0))
        rest = {bool(_holds(rank, comparison, number or 0)) for rank in (1, 2, 7)}
    if not is_main or len(rest) > 1 or first in rest:
        return "both", "both"
    return ("main", "other") if first else ("other", "main")
