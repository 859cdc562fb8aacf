"""Splits of data that a library or a shuffle in place draws, where nothing says which seed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import has_spread, keyword
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, hit
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last, shown, words
from distkb.evidence.readers.scripts.nodes import nodes

_SPLIT = "script.split-without-seed"
_SHUFFLES = frozenset({"random.shuffle", "numpy.random.shuffle"})
_SEEDS = ("random_state", "seed", "generator")


def shuffled_parts(function: Function, job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield lists that are shuffled in place and then cut into parts, and splits of a library without a seed."""
    for site in job.project.walk(function).sites:
        call = site.node
        full = canonical(call.func, function.script)
        if site.where.loops or site.where.side != "both" or has_spread(call):
            continue
        if full in _SHUFFLES and call.args and dotted(call.args[0]):
            if _is_cut(dotted(call.args[0]), site, function):
                yield hit(_SPLIT, function, call, call=shown(call))
        elif _splits(call) and not any(keyword(call, name) is not None for name in _SEEDS):
            yield hit(_SPLIT, function, call, call=shown(call))


def _splits(call: ast.Call) -> bool:
    """Whether a call draws which samples are for training: scikit-learn's or a data set's `train_test_split`."""
    return last(call.func) == "train_test_split" and constant(keyword(call, "shuffle")) is not False


def _is_cut(name: str, shuffle: Site, function: Function) -> bool:
    """Whether parts are taken from a list, by a slice or as the numbers of a subset, below its shuffle."""
    for node in nodes(function.node):
        if getattr(node, "lineno", 0) <= shuffle.node.lineno:
            continue
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) and dotted(node.value) == name:
            return True
        if isinstance(node, ast.Call) and last(node.func) == "Subset" and name in words(node):
            return True
    return False
