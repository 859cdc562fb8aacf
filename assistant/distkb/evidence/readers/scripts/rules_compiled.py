"""What the ranks compile: another graph on the first of them, or one that takes longer than the others wait."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import keyword
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, dotted, last, shown, walk
from distkb.evidence.readers.scripts.rules_stores import seconds_of

_OTHER, _SLOW = "script.compiled-by-rank", "script.compile-past-timeout"
_USUAL = 600
"""Seconds that a group of NCCL waits by itself."""


def other_graph(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield tests of the rank in what is compiled: the forward of a module, or a function with the decorator."""
    compiles = job.is_parallel and job.mentions("compile") and bool(_compiles(job))
    for function in job.project.functions if job.is_parallel and job.mentions("compile") else ():
        if not _is_decorated(function) and not (compiles and _is_forward(function)):
            continue
        for node in walk(function.node):
            if isinstance(node, (ast.If, ast.IfExp)) and job.origins.depends([node.test], function, "rank"):
                yield hit(_OTHER, function, node, test=shown(node.test))
                break


def _compiles(job: ScriptContext) -> list[ast.Call]:
    return [call for f, call in job.calls() if canonical(call.func, f.script) == "torch.compile" or _in_place(call)]


def _in_place(call: ast.Call) -> bool:
    """Whether a module is compiled by its own method."""
    return isinstance(call.func, ast.Attribute) and call.func.attr == "compile" and dotted(call.func.value) != "re"


def _is_forward(function: Function) -> bool:
    return function.name.endswith(".forward") and any(last(base) == "Module" for base in function.bases)


def _is_decorated(function: Function) -> bool:
    marks = getattr(function.node, "decorator_list", [])
    return any(canonical(getattr(one, "func", one), function.script) == "torch.compile" for one in marks)


def slow(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield groups that wait shorter than usual in a script that compiles its model."""
    compiles = [call for call in _compiles(job) if last(call.func) == "compile"] if job.mentions("timedelta") else []
    for function, site in job.sites() if compiles else ():
        value = keyword(site.node, "timeout") if last(site.node.func) == "init_process_group" else None
        seconds = None if value is None else seconds_of(value, function, job)
        if seconds is not None and seconds < _USUAL:
            yield hit(_SLOW, function, site.node, timeout=f"{seconds:g}", compiled=shown(compiles[0]))


RULES = (
    ScriptRule(ids=(_OTHER,), check=other_graph),
    ScriptRule(ids=(_SLOW,), check=slow),
)
