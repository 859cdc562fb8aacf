"""Processes beside the ranks: files that workers share, and functions that cannot be started elsewhere."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, keyword, last, shown
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.project import Class, Function

_AGAIN = "script.start-method-set-again"
_SHARED, _LOCAL, _GUARD = "script.handle-shared-by-workers", "script.spawn-of-local", "script.spawn-without-guard"
_OPENS = frozenset({"open", "h5py.File", "sqlite3.connect", "lmdb.open", "tarfile.open", "zipfile.ZipFile"})
_SPAWNS = ("torch.multiprocessing.spawn", "torch.multiprocessing.start_processes")
_CHOOSES = frozenset({"set_start_method", "get_context"})
_MOVES = frozenset({"read", "readline", "seek", "execute", "extractfile", "begin", "readinto"})


def shared_handle(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield files that a dataset opens in `__init__` and moves about in `__getitem__`, where loaders have workers."""
    for owner, loads in loaded_by_workers(job):
        init, getter = owner.methods.get("__init__"), owner.methods.get("__getitem__")
        if init is None or getter is None or "__getstate__" in owner.methods:
            continue
        for made in job.project.walk(init).assignments:
            opened = isinstance(made.value, ast.Call) and canonical(made.value.func, init.script) in _OPENS
            if opened and made.target.startswith("self.") and _is_moved(made.target[5:], owner, made.value):
                yield hit(_SHARED, init, made.value, call=shown(made.value), loader=shown(loads.func), data=owner.name)


def loaded_by_workers(job: ScriptContext) -> Iterator[tuple[Class, ast.Call]]:
    """Yield the classes of the data sets that a DataLoader with workers reads."""
    for function in job.project.functions:
        for site in job.project.walk(function).sites:
            call = site.node
            workers = keyword(call, "num_workers")
            data = call.args[0] if call.args else keyword(call, "dataset")
            if last(call.func) != "DataLoader" or workers is None or constant(workers) == 0 or data is None:
                continue
            number = constant(workers)
            if isinstance(number, int) or not isinstance(workers, ast.Constant):
                owner = job.project.holds_class(data, function)
                if owner is not None:
                    yield owner, call


def _is_moved(name: str, owner: Class, opened: ast.expr) -> bool:
    """Whether other methods than the one that opens it read from it, and nothing closes it first."""
    whole = isinstance(opened, ast.Call) and last(opened.func) == "File"
    read = False
    for method in owner.methods.values():
        for node in nodes(method.node):
            held = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
            if whole and isinstance(node, ast.Subscript):
                held = node.value
            if not isinstance(held, ast.Attribute) or held.attr != name:
                continue
            does = "[]" if isinstance(node, ast.Subscript) else last(node.func) if isinstance(node, ast.Call) else ""
            if does == "close" and method.name == f"{owner.name}.__init__":
                return False
            read |= (does == "[]" or does in _MOVES) and method.name != f"{owner.name}.__init__"
    return read


def spawned(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield starts of processes by spawn whose function cannot be found there, or that each of them would repeat."""
    chosen = any(map(_chooses_spawn, job.project.functions))
    for function in job.project.functions:
        guarded = _guarded(function)
        for site in job.project.walk(function).sites:
            call = site.node
            one = chosen and last(call.func) == "Process" and keyword(call, "target") is not None
            if not one and canonical(call.func, function.script) not in _SPAWNS:
                continue
            given = keyword(call, "target" if one else "fn") or next(iter(call.args), None)
            method = keyword(call, "start_method")
            forks = method is not None and constant(method) != "spawn"
            if given is not None and not forks and _is_local(given, function):
                yield hit(_LOCAL, function, call, call=shown(call.func), given=shown(given))
            elif isinstance(function.node, ast.Module) and not forks and id(call) not in guarded:
                yield hit(_GUARD, function, call, call=shown(call.func))


def _chooses_spawn(function: Function) -> bool:
    """Whether the function makes processes begin anew: `set_start_method("spawn")` or `get_context("spawn")`."""
    calls = (node for node in nodes(function.node) if isinstance(node, ast.Call) and node.args)
    return any(last(c.func) in _CHOOSES and constant(c.args[0]) in {"spawn", "forkserver"} for c in calls)


def _is_local(node: ast.expr, function: Function) -> bool:
    if isinstance(node, ast.Lambda):
        return True
    inside = not isinstance(function.node, ast.Module)
    return inside and isinstance(node, ast.Name) and node.id in function.inner


def _guarded(function: Function) -> set[int]:
    """Return what stands under a test of `__name__` at the top level of a file, by identity."""
    body = function.node.body if isinstance(function.node, ast.Module) else []
    tests = [s for s in body if isinstance(s, ast.If) and "__name__" in {last(part) for part in nodes(s.test)}]
    return {id(part) for test in tests for part in nodes(test)}


def set_again(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield start methods that each process sets again when it imports the file, which Python refuses."""
    for function in job.project.functions if job.mentions("set_start_method") else ():
        if not isinstance(function.node, ast.Module) or not _starts_processes(function.node):
            continue
        spared = _guarded(function) | tried(function)
        for site in job.project.walk(function).sites:
            call = site.node
            if last(call.func) != "set_start_method" or id(call) in spared or not call.args:
                continue
            forced = keyword(call, "force") or (call.args[1] if len(call.args) > 1 else None)
            if constant(call.args[0]) in {"spawn", "forkserver"} and constant(forced) is not True:
                yield hit(_AGAIN, function, call, call=shown(call))


def _starts_processes(module: ast.Module) -> bool:
    """Whether the file starts processes: by `spawn`, by `Process`, or as workers of a loader."""
    for node in nodes(module):
        if isinstance(node, ast.Call):
            name, workers = last(node.func), keyword(node, "num_workers")
            if name in {"spawn", "start_processes", "Process", "Pool", "ProcessPoolExecutor"}:
                return True
            if name == "DataLoader" and workers is not None and constant(workers) != 0:
                return True
    return False


def tried(function: Function) -> set[int]:
    """Return what stands in a `try`, by identity."""
    tries = [node for node in nodes(function.node) if isinstance(node, ast.Try)]
    return {id(part) for one in tries for statement in one.body for part in nodes(statement)}


RULES = (
    ScriptRule(ids=(_AGAIN,), check=set_again),
    ScriptRule(ids=(_SHARED,), check=shared_handle),
    ScriptRule(ids=(_LOCAL, _GUARD), check=spawned),
)
