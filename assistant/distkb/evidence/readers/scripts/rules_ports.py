"""Ports of the rendezvous that each process picks for itself, so that no two of them meet."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import msgspec

from distkb.evidence.readers.scripts.arguments import keyword
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last, shown, walk
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.ranks import assumed, sides

_PORT = "script.port-of-its-own"
_NAME = "MASTER_PORT"
_BEGINS = "torch.distributed.init_process_group"
_FREE = re.compile(r"(?i)(?:free|unused|open|available|random)_?port")
"""Names of library functions that look for a port nobody uses."""
_DRAWS = re.compile(r"^(?:random|numpy\.random)\.(?:randint|randrange|choice|random|sample|uniform)$")
_SEEDS = re.compile(r"^(?:random|numpy\.random)\.seed$|seed_everything$|set_seed$|seed_all$")
_STARTS = frozenset({"spawn", "start_processes", "notebook_launcher", "Process"})
_ALONE = {"WORLD_SIZE": ("1", 1), "RANK": ("0", 0)}
"""What a process that is alone gives, by the name of the variable or argument."""
_DEPTH = 5


class _Setting(msgspec.Struct, frozen=True):
    """Where the port is set, to what, and whether one that is set already stays."""

    function: Function
    value: ast.expr
    tests: list[ast.expr]
    """Of the branches around it."""
    is_default: bool = False

    @property
    def stays(self) -> bool:
        """Whether a port that is set already is kept."""
        parts = (node for test in self.tests for node in nodes(test))
        return self.is_default or any(constant(part) == _NAME for part in parts)

    @property
    def is_of_all(self) -> bool:
        """Whether no test of the rank stands around it."""
        return all(sides(test) == ("both", "both") for test in self.tests)


def own_port(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield settings of the rendezvous's port that every rank runs, to a port that the process picks for itself."""
    if not job.mentions("init_process_group") or _is_single(job):
        return
    started = list(_started(job))
    inside = {id(one) for worker in started for one in _reached(worker, job)}
    settings = [one for function in job.project.functions for one in _settings(function, job)]
    given = any(id(one.function) not in inside for one in settings)
    for one in settings:
        if not one.is_of_all or (one.stays and (given or not started)):
            continue
        if started and id(one.function) not in inside:
            continue
        if not started and (one.tests or isinstance(one.function.node, ast.Module)):
            continue
        picked = _picked(one.value, one.function, job, 0)
        if picked is not None:
            yield hit(_PORT, one.function, one.value, port=shown(one.value), call=shown(picked))


def _is_single(job: ScriptContext) -> bool:
    """Whether the code itself says that there is one process only."""
    for function in job.project.functions:
        if any(constant(one.value) in _ALONE.get(key, ()) for key, one in _assigned(function)):
            return True
        for site in job.project.walk(function).sites:
            told = ((word.value, _ALONE.get((word.arg or "").upper(), ())) for word in site.node.keywords)
            begins = canonical(site.node.func, function.script) == _BEGINS
            if begins and any(constant(value) in alone for value, alone in told):
                return True
    return False


def _started(job: ScriptContext) -> Iterator[Function]:
    """Yield the functions that the script itself starts as processes."""
    for function, call in job.calls():
        name = last(call.func)
        if name not in _STARTS:
            continue
        named = keyword(call, "target") or keyword(call, "fn") or keyword(call, "function")
        named = named or (call.args[0] if call.args and name != "Process" else None)
        target = None if named is None else job.project.referred(named, function)
        if target is not None:
            yield target


def _reached(worker: Function, job: ScriptContext) -> list[Function]:
    """Return a function and those of the project that it runs."""
    found = [worker]
    for function in found:
        for site in job.project.walk(function).sites:
            target = job.project.target(site.node, function)
            if target is not None and all(target is not one for one in found):
                found.append(target)
    return found


def _settings(function: Function, job: ScriptContext) -> Iterator[_Setting]:
    """Yield what a function puts into MASTER_PORT, and the addresses with a port with which it makes a group."""
    yield from (one for key, one in _assigned(function) if key == _NAME)
    for site in job.project.walk(function).sites:
        call = site.node
        if dotted(call.func).endswith("environ.setdefault") and len(call.args) > 1 and constant(call.args[0]) == _NAME:
            yield _Setting(function, call.args[1], list(site.where.tests), is_default=True)
        given = keyword(call, _NAME) if dotted(call.func).endswith("environ.update") else None
        if canonical(call.func, function.script) == _BEGINS:
            given = keyword(call, "init_method")
        if given is not None:
            yield _Setting(function, given, list(site.where.tests))


def _assigned(function: Function) -> Iterator[tuple[str, _Setting]]:
    """Yield what a function assigns to variables of the environment, each with its name."""
    branches = [node for node in walk(function.node) if isinstance(node, ast.If)]
    for node in walk(function.node):
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            if isinstance(target, ast.Subscript) and dotted(target.value).endswith("environ"):
                around = [one.test for one in branches if any(part is node for part in nodes(one))]
                tests = [test for test in around if assumed(test) is None]
                yield str(constant(target.slice)), _Setting(function, node.value, tests)


def _picked(node: ast.expr, function: Function, job: ScriptContext, depth: int) -> ast.Call | None:
    """Return the call that picks a port in this process, also behind names, helpers and arguments."""
    for part in nodes(node):
        if isinstance(part, ast.Call):
            target = job.project.target(part, function) if depth < _DEPTH else None
            if target is None and _is_own(part, function, job):
                return part
            for value, where in job.project.walk(target).returns if target is not None else ():
                inner = _picked(value, target or function, job, depth + 1) if where.side == "both" else None
                if inner is not None:
                    return part
        elif isinstance(part, (ast.Name, ast.Attribute)) and depth < _DEPTH and not _by_some(part, function, job):
            for value, scope in job.project.stands_for(part, function):
                inner = _picked(value, scope, job, depth + 1)
                if inner is not None:
                    return inner
    return None


def _by_some(node: ast.Name | ast.Attribute, function: Function, job: ScriptContext) -> bool:
    """Whether only some ranks give a name its value, or it gets several, of which one may come from another rank."""
    made = job.project.walk(function).assigned(dotted(node))
    return len(made) > 1 or any(one.where.side != "both" for one in made)


def _is_own(call: ast.Call, function: Function, job: ScriptContext) -> bool:
    """Whether a call of a library gives every process another number."""
    full = canonical(call.func, function.script)
    if full == "os.getpid" or last(call.func) == "getsockname" or _FREE.search(last(call.func)):
        return True
    drawn = _DRAWS.match(full) is not None
    return drawn and not any(_SEEDS.search(canonical(call.func, f.script)) for f, call in job.calls())


RULES = (ScriptRule(ids=(_PORT,), check=own_port),)
