"""Models that were wrapped before something changed in them, after it should not have, twice, or not at all."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import keyword
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import meanings
from distkb.evidence.readers.scripts.names import canonical, dotted, last, shown, walk, words
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.things import Event, Thing

_EXCHANGED = "script.exchanged-after-ddp"
_TWICE, _MODULE = "script.wrapped-twice", "script.module-of-unwrapped"
_ASK_START = frozenset({"device_count", "is_initialized", "RANK", "WORLD_SIZE", "world_size", "get_world_size",
                        "LOCAL_RANK", "distributed"})  # fmt: skip
"""Words of tests that ask how many processes were started."""
_SHARDS = frozenset({"FullyShardedDataParallel", "FSDP", "fully_shard"})


def exchanged(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield parameters that are exchanged, or added, in a model that DDP holds already."""
    told: set[int] = set()
    for events in job.episodes:
        wrapped: list[Thing] = []
        for index, event in enumerate(events):
            wrapped += event.things if event.kind == "ddp" else ()
            if event.kind != "exchange" or id(event.node) in told or not _is_of(event, wrapped):
                continue
            if any(later.kind == "ddp" for later in events[index + 1 :]):
                continue
            told.add(id(event.node))
            yield hit(_EXCHANGED, event.function, event.node, change=shown(event.node))
    for function, call in job.calls():
        if last(call.func) == "convert_sync_batchnorm" and call.args:
            given = call.args[0]
            if kinds.kind_of(given, function, job.project, call.lineno) == kinds.DDP:
                yield hit(_EXCHANGED, function, call, change=shown(call))


def _is_of(exchange: Event, models: list[Thing]) -> bool:
    ids = {id(model) for model in models}
    return any(id(whole) in ids for thing in exchange.things for whole in thing.wholes())


def twice(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield DDP around a model that FSDP may have sharded before."""
    for function, site in job.sites():
        call = site.node
        if canonical(call.func, function.script).rpartition(".")[2] != "DistributedDataParallel" or not call.args:
            continue
        if keyword(call, "process_group") or keyword(call, "device_mesh"):
            continue
        name = dotted(call.args[0])
        made = job.project.walk(function).assigned(name, before=call.lineno) if name else []
        ways = [one for one in made if isinstance(one.value, ast.Call) and _shards(one.value, function)]
        passed = site.where.decided
        if ways and made[-1] in ways and not any(test in passed for test in ways[-1].where.tests):
            yield hit(_TWICE, function, call, model=name, first_line=str(ways[-1].line))


def _shards(call: ast.Call, function: Function) -> bool:
    return canonical(call.func, function.script).rpartition(".")[2] in _SHARDS


def module_of_bare(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield `.module` of a model that was taken out of its wrapper, or that only some runs wrap."""
    for function in job.project.functions:
        told: set[str] = set()
        guarded = {id(part) for node in walk(function.node) if _asks(node) for part in nodes(node)}
        for node in walk(function.node):
            if not isinstance(node, ast.Attribute) or node.attr != "module" or not isinstance(node.ctx, ast.Load):
                continue
            name = dotted(node.value)
            if not name or name in told or id(node) in guarded or "hasattr" in words(function.node):
                continue
            if _is_unwrapped(name, function, job, node.lineno) or _is_open(node.value, function, job):
                told.add(name)
                yield hit(_MODULE, function, node, asked=shown(node), model=name)


def _asks(node: ast.AST) -> bool:
    """Whether a test may ask whether the model is wrapped."""
    if isinstance(node, ast.Try):
        return True
    test = node.test if isinstance(node, (ast.If, ast.IfExp)) else node if isinstance(node, ast.BoolOp) else None
    return test is not None and any(_ASKS.search(word) for word in words(test))


_ASKS = re.compile(
    r"(?i)ddp|dist|parallel|module|wrap|world|isinstance|hasattr|device_count|n_?gpu|multi|num_processes"
)


def _is_unwrapped(name: str, function: Function, job: ScriptContext, line: int) -> bool:
    made = job.project.walk(function).assigned(name, before=line)
    value = made[-1].value if made and made[-1].index is None and made[-1].where.certain else None
    return isinstance(value, ast.Call) and last(value.func) == "unwrap_model" and job.mentions("Accelerator")


def _is_open(node: ast.expr, function: Function, job: ScriptContext, depth: int = 0) -> bool:
    """Whether a name holds DDP only where a test of how the script was started says so."""
    name = dotted(node)
    if name in function.parameters and depth < 2:
        given = list(job.project.given(name, function))
        return bool(given) and all(_is_open(value, caller, job, depth + 1) for value, caller in given)
    made = job.project.walk(function).assigned(name)
    wraps = [one for one in made if _is_ddp(one.value, function)]
    others = [one for one in made if one not in wraps and one.where.certain and isinstance(one.value, ast.Call)]
    started = all(one.where.tests and _is_start(one.where.tests, function, job) for one in wraps)
    return bool(wraps) and bool(others) and started


def _is_start(tests: tuple[ast.expr, ...], function: Function, job: ScriptContext) -> bool:
    """Whether tests ask how many processes were started, also of a value that holds it."""
    asked = (part for test in tests for part in nodes(test) if isinstance(part, (ast.Name, ast.Attribute)))
    behind = (value for part in asked for value, _ in meanings(part, function, job.project))
    said = {word for value in (*tests, *behind) for word in words(value)}
    return bool(said & _ASK_START)


def _is_ddp(value: ast.expr, function: Function) -> bool:
    return isinstance(value, ast.Call) and canonical(value.func, function.script).endswith("DistributedDataParallel")


RULES = (
    ScriptRule(ids=(_EXCHANGED,), check=exchanged, follows=True),
    ScriptRule(ids=(_TWICE,), check=twice),
    ScriptRule(ids=(_MODULE,), check=module_of_bare),
)
