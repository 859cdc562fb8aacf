"""Measures of a rank's share of the data that are divided by the size of all of it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import argument, arguments, keyword, positional
from distkb.evidence.readers.scripts.blocks import head
from distkb.evidence.readers.scripts.collectives import TOGETHER
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import LOOPED
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import Meaning, makers, meanings
from distkb.evidence.readers.scripts.names import canonical, dotted, last, shown, walk, words
from distkb.evidence.readers.scripts.nodes import nodes

_DIVIDED = "script.share-divided-by-whole"
_VIEWS = frozenset({"enumerate", "tqdm", "track", "iter", "list", "trange"})
_OF_NUMBERS = frozenset({"max", "float", "int"})
_WAITS = re.compile(r"barrier$|wait_for_everyone$|set_epoch$")
_TOGETHER = re.compile(r"(?i)reduce|gather|sync|\bagg|collect|across")
"""Names of helpers outside of the project that may bring the ranks' numbers together."""
_COUNTS_RANKS = re.compile(r"(?i)world|num_proc|nproc|replica|n_?gpus|num_devices|n_?ranks")
_DEPTH = 4
"""Names and functions in one another through which a number is followed."""


def divided_by_whole(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield divisions of what a rank counted on its own share by the length of the data that was shared out."""
    if not job.is_parallel:
        return
    for function in job.project.functions:
        told: set[str] = set()
        for node in walk(function.node):
            if not isinstance(node, (ast.BinOp, ast.AugAssign)) or not isinstance(node.op, ast.Div):
                continue
            if _counts_ranks(node, function, job):
                continue
            counted, divisor = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
            for whole in _lengths(divisor, function, job):
                loader = next((shown(over[0]) for over in _counted(counted, function, job, node.lineno)
                               if _is_shared_out(over, whole, job)), "")  # fmt: skip
                if loader and loader not in told and not _is_brought_together(node, counted, function, job):
                    told.add(loader)
                    yield hit(_DIVIDED, function, node, share=shown(counted), whole=shown(divisor), loader=loader)


def _counts_ranks(node: ast.AST, function: Function, job: ScriptContext) -> bool:
    """Whether the number of ranks is in a division."""
    said = words(node)
    for part in nodes(node):
        value = job.project.single(part, function) if isinstance(part, ast.Name) else None
        said |= words(value) if value is not None else set()
    return any(_COUNTS_RANKS.search(word) for word in said)


def _lengths(node: ast.expr, function: Function, job: ScriptContext) -> Iterator[Meaning]:
    """Yield the data sets whose length a divisor is."""
    if isinstance(node, ast.Call) and last(node.func) in _OF_NUMBERS:
        for given in node.args:
            yield from _lengths(given, function, job)
        return
    for value, scope in meanings(node, function, job.project):
        if isinstance(value, ast.Call) and dotted(value.func) == "len" and len(value.args) == 1:
            yield value.args[0], scope


def _counted(node: ast.expr, function: Function, job: ScriptContext, line: int, depth: int = 0) -> Iterator[Meaning]:
    """Yield what the loops go through in which a number was summed up, unless it is made of the ranks' together."""
    if depth > _DEPTH:
        return
    walked = job.project.walk(function)
    for part in nodes(node):
        if isinstance(part, ast.Call):
            for value, scope in job.project.returned(part, function):
                yield from _counted(value, scope, job, value.lineno + 1, depth + 1)
        name = dotted(part) if isinstance(part, ast.Name) or dotted(part).startswith("self.") else ""
        if not name or not isinstance(part, ast.expr) or job.origins.is_agreed(part, function):
            continue
        owner = job.project.owner_of(function) if name.startswith("self.") else None
        for scope in owner.methods.values() if owner is not None else (function,):
            inner = job.project.walk(scope)
            summed = [(one.value, one.where.loops) for one in inner.changes.get(name, [])]
            summed += [(site.node.args[0], site.where.loops) for site in inner.puts.get(name, [])]
            for value, loops in summed:
                if not isinstance(value, ast.Constant):
                    yield from ((over, scope) for loop in reversed(loops) if _is_past(loop, line, scope, function)
                                for over in [head(loop)] if over is not None)  # fmt: skip
        for made in walked.assigned(name, before=line)[-1:]:
            if made.index is None and name not in {dotted(one) for one in nodes(made.value)}:
                yield from _counted(made.value, function, job, made.line + 1, depth + 1)
            elif made.index is not None and made.index != LOOPED:
                for value, scope in job.project.returned(made.value, function, made.index):
                    yield from _counted(value, scope, job, value.lineno + 1, depth + 1)


def _is_past(loop: ast.stmt, line: int, scope: Function, function: Function) -> bool:
    """Whether a loop over data has ended at a line: a count on the way says how far it is."""
    return isinstance(loop, ast.For) and (scope is not function or line > (loop.end_lineno or 0) or line < loop.lineno)


def _is_shared_out(over: Meaning, whole: Meaning, job: ScriptContext) -> bool:
    """Whether a loop goes through a rank's share of the data of which the length was asked."""
    loader, function = over
    while isinstance(loader, ast.Call) and last(loader.func) in _VIEWS and loader.args:
        loader = loader.args[0]
    if any(_is_piece(value, whole, job) for value in meanings(loader, function, job.project)):
        return True
    for made in makers(loader, function, job.project, loader.lineno):
        call = made.call
        if not canonical(call.func, made.function.script).endswith("DataLoader"):
            continue
        data = argument(call, "dataset", 0)
        if data is None:
            continue
        sampler = keyword(call, "sampler")
        if made.prepared or (sampler is not None and _divides(sampler, made.function, job)):
            if _is_data_of(whole, call, job) or _is_same((data, made.function), whole, job):
                return True
        elif any(_is_piece(value, whole, job) for value in meanings(data, made.function, job.project)):
            return True
    return False


def _is_same(one: Meaning, other: Meaning, job: ScriptContext) -> bool:
    """Whether two expressions stand for the same object."""
    behind = {id(value) for value, _ in meanings(*one, job.project)}
    if any(id(value) in behind for value, _ in meanings(*other, job.project)):
        return True
    return bool(dotted(one[0])) and dotted(one[0]) == dotted(other[0]) and one[1] is other[1]


def _divides(sampler: ast.expr, function: Function, job: ScriptContext) -> bool:
    made = (value for value, _ in meanings(sampler, function, job.project) if isinstance(value, ast.Call))
    return any(last(call.func) == "DistributedSampler" and _is_of_all(call) for call in made)


def _is_of_all(sampler: ast.Call) -> bool:
    """Whether a sampler divides the data among the ranks, however many: not among a number that is written out."""
    return not isinstance(keyword(sampler, "num_replicas"), ast.Constant)


def _is_data_of(whole: Meaning, loader: ast.Call, job: ScriptContext) -> bool:
    """Whether it is `loader.dataset`."""
    node, scope = whole
    if not isinstance(node, ast.Attribute) or node.attr != "dataset":
        return False
    return any(made.call is loader for made in makers(node.value, scope, job.project, node.lineno))


def _is_piece(piece: Meaning, whole: Meaning, job: ScriptContext) -> bool:
    """Whether something is picked by the rank's number out of the data: `data[rank::world]`, `Subset(data, own)`."""
    picked: ast.expr | None = None
    value, scope = piece
    by: list[ast.expr] = []
    if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Slice):
        picked, by = value.value, [part for part in (value.slice.lower, value.slice.step) if part is not None]
    elif isinstance(value, ast.Call) and last(value.func) == "Subset" and len(value.args) == 2:
        picked, by = value.args[0], value.args[1:]
    elif isinstance(value, ast.Call) and last(value.func) in {"shard", "split_dataset_by_node"}:
        named = value.func.value if isinstance(value.func, ast.Attribute) and last(value.func) == "shard" else None
        picked = named or positional(value, 0)
        by = arguments(value)
    if picked is None or not job.origins.depends(by, scope, "rank", "part"):
        return False
    return _is_same((picked, scope), whole, job)


def _is_brought_together(node: ast.AST, counted: ast.expr, function: Function, job: ScriptContext) -> bool:
    """Whether the result, or what it is made of, goes into a call that brings the ranks' numbers together."""
    names = {dotted(part) for part in nodes(counted) if isinstance(part, (ast.Name, ast.Attribute))} - {"", "self"}
    return _goes_together(names, node, function, job, 0)


def _goes_together(names: set[str], node: ast.AST, function: Function, job: ScriptContext, depth: int) -> bool:
    walked = job.project.walk(function)
    names = set(names)

    def carries(value: ast.AST) -> bool:
        return any(part is node or (dotted(part) or "-") in names for part in nodes(value))

    for _ in range(2):
        for made in walked.assignments:
            if made.target not in names and carries(made.value):
                names.add(made.target)
        for name, puts in walked.puts.items():
            if any(carries(site.node) for site in puts):
                names.add(name)
    owner = job.project.owner_of(function)
    kept = {name for name in names if name.startswith("self.")}
    for scope in owner.methods.values() if owner is not None and kept else ():
        if any(_brings(site.node, scope, job) and kept & {dotted(part) for part in nodes(site.node)}
               for site in job.project.walk(scope).sites):  # fmt: skip
            return True
    if any(carries(site.node) and _brings(site.node, function, job) for site in walked.sites):
        return True
    if depth > _DEPTH or not any(carries(value) for value, _ in walked.returns):
        return False
    return any(_goes_together(set(), site.node, caller, job, depth + 1)
               for caller, site in job.project.callers(function))  # fmt: skip


def _brings(call: ast.Call, function: Function, job: ScriptContext) -> bool:
    """Whether a call makes one number of the ranks' numbers, as far as its name or what it runs says."""
    if _WAITS.search(last(call.func)):
        return False
    found = job.effects.of_call(call, function)
    return any(one.category in TOGETHER and not _WAITS.search(one.name) for one in found) or bool(
        _TOGETHER.search(last(call.func)) and job.project.target(call, function) is None
    )


RULES = (ScriptRule(ids=(_DIVIDED,), check=divided_by_whole),)
