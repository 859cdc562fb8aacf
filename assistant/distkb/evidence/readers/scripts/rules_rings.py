"""Groups of two neighbours that close to a ring, of which every rank uses its own first: each waits for the next."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise

import msgspec

from distkb.evidence.readers.scripts.arguments import keyword
from distkb.evidence.readers.scripts.collectives import is_operation, makes_group
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import COMPREHENSIONS, constant, last, shown, words
from distkb.evidence.readers.scripts.nodes import nodes

_RING = "script.ring-of-pairs"
_TOGETHER = frozenset({"all_reduce", "all_gather", "all_gather_into_tensor", "reduce_scatter", "reduce_scatter_tensor",
                       "broadcast", "all_to_all", "all_to_all_single", "barrier", "all_gather_object"})  # fmt: skip
_PAIR = 2


class _Ring(msgspec.Struct, frozen=True, eq=False):
    """Groups of two that a loop over all ranks makes, and how a rank finds its two."""

    call: ast.Call
    function: Function
    held: frozenset[str]
    """Names of what holds all of them."""
    kept: frozenset[str]
    """Names under which a rank keeps those that it is in."""


def ring_of_pairs(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield the second of two collectives that every rank makes in its two pairs of a ring, in the same order."""
    rings = (
        [ring for function in job.project.functions for ring in _rings(function)] if job.mentions("new_group") else []
    )
    for function in job.project.functions if rings else ():
        sites = [site for site in job.project.walk(function).sites if _waits(site, function, job)]
        for ring in rings:
            used = [(site, pair) for site in sites if (pair := _pair_of(site, ring, function, job))]
            later = next(((one[0], two[0]) for one, two in pairwise(used) if _go_round(one, two)), None)
            if later is not None:
                first, second = later
                groups = [shown(keyword(site.node, "group") or site.node) for site in later]
                found = hit(_RING, function, second.node, call=shown(second.node.func), first=groups[0],
                            second=groups[1], first_line=str(first.node.lineno))  # fmt: skip
                yield msgspec.structs.replace(found, more=((ring.function.script, ring.call.lineno),))
                break


def _go_round(one: tuple[Site, str], two: tuple[Site, str]) -> bool:
    return one[1] != two[1] and one[0].where.loops == two[0].where.loops


def _rings(function: Function) -> Iterator[_Ring]:
    inside = nodes(function.node)
    for loop in inside:
        targets: set[str] = set()
        if isinstance(loop, (ast.For, ast.AsyncFor)):
            targets = words(loop.target)
        elif isinstance(loop, COMPREHENSIONS):
            targets = {word for part in loop.generators for word in words(part.target)}
        for call in nodes(loop) if targets else ():
            if isinstance(call, ast.Call) and makes_group(call, function):
                members = keyword(call, "ranks") or next(iter(call.args), None)
                if members is not None and _closes(members, targets):
                    yield _Ring(call, function, *_names_of(call, loop, inside))


def _closes(members: ast.expr, targets: set[str]) -> bool:
    """Whether a group is of a loop's rank and the next one, and the next of the last is the first."""
    pair = next((part for part in nodes(members) if isinstance(part, (ast.List, ast.Tuple, ast.Set))), None)
    if pair is None or len(pair.elts) != _PAIR or not all(words(one) & targets for one in pair.elts):
        return False
    return sum(any(isinstance(p, ast.Mod) for p in ast.walk(one)) for one in pair.elts) == 1


def _names_of(call: ast.Call, loop: ast.AST, inside: list[ast.AST]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of what holds the groups of a loop, and those that a test in the loop gives to one of them."""
    held: set[str] = set()
    made = {""}
    for node in inside:
        if isinstance(node, ast.Assign) and (node.value is call or node.value is loop):
            for target in node.targets:
                if isinstance(target, ast.Subscript):
                    held.add(last(target.value))
                elif node.value is loop:
                    held.add(last(target))
                else:
                    made.add(last(target))
    kept: set[str] = set()
    for node in nodes(loop):
        if isinstance(node, ast.Assign) and last(node.value) in made - {""}:
            held |= {last(target.value) for target in node.targets if isinstance(target, ast.Subscript)}
            kept |= {last(target) for target in node.targets if not isinstance(target, ast.Subscript)}
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append":
            takes = any(one is call or last(one) in made - {""} for one in node.args)
            held |= {last(node.func.value)} if takes else set()
    return frozenset(held - {""}), frozenset(kept - {""})


def _waits(site: Site, function: Function, job: ScriptContext) -> bool:
    """Whether every rank makes a call here and waits in it for the others of its group."""
    call = site.node
    if last(call.func) not in _TOGETHER or not is_operation(call, function) or site.where.side != "both":
        return False
    is_open = constant(keyword(call, "async_op")) is not True
    return is_open and not any(job.origins.depends([test], function, "rank") for test in site.where.decided)


def _pair_of(site: Site, ring: _Ring, function: Function, job: ScriptContext) -> str:
    """Return which of a rank's own pairs a call is made in; empty where it is in another group, or in any."""
    group = keyword(site.node, "group")
    if isinstance(group, (ast.Name, ast.Attribute)):
        name = last(group)
        made = job.project.single(group, function)
        if name in ring.kept:
            return name
        return "" if not isinstance(made, ast.Subscript) else _index(made, ring, function, job)
    return _index(group, ring, function, job) if isinstance(group, ast.Subscript) else ""


def _index(node: ast.Subscript, ring: _Ring, function: Function, job: ScriptContext) -> str:
    if last(node.value) not in ring.held or not job.origins.depends([node.slice], function, "rank"):
        return ""
    return ast.dump(job.project.single(node.slice, function) or node.slice)


RULES = (ScriptRule(ids=(_RING,), check=ring_of_pairs),)
