"""Processes beside the ranks: files that workers share, and what cannot be sent or started elsewhere."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import argument, keyword, positional
from distkb.evidence.readers.scripts.definitions import Class, Function
from distkb.evidence.readers.scripts.effects import is_generator
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import makers
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last, shown
from distkb.evidence.readers.scripts.nodes import nodes

_AGAIN = "script.start-method-set-again"
_SHARED, _LOCAL, _GUARD = "script.handle-shared-by-workers", "script.spawn-of-local", "script.spawn-without-guard"
_OPENS = frozenset({"open", "h5py.File", "sqlite3.connect", "lmdb.open", "tarfile.open", "zipfile.ZipFile"})
_PICKLED = "script.dataset-not-picklable"
_UNSENT = _OPENS | {
    "socket.socket", "socket.create_connection", "threading.Lock", "threading.RLock", "threading.Condition",
    "threading.Event", "threading.Semaphore", "gzip.open", "bz2.open", "lzma.open", "io.open", "tempfile.TemporaryFile",
    "tempfile.NamedTemporaryFile", "cv2.VideoCapture", "psycopg2.connect", "pymysql.connect", "boto3.client",
}  # fmt: skip
"""Calls whose result cannot be pickled."""
_NEW = frozenset({"spawn", "forkserver"})
"""Ways to start a process that has nothing of its parent's."""
_WRAPS = frozenset({"Subset", "ConcatDataset"})
_SENT = ("collate_fn", "worker_init_fn")
"""What a loader sends to its workers beside the data set."""
_SPAWNS = ("torch.multiprocessing.spawn", "torch.multiprocessing.start_processes")
_CHOOSES = frozenset({"set_start_method", "get_context"})
_MOVES = frozenset({"read", "readline", "seek", "execute", "extractfile", "begin", "readinto"})


def shared_handle(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield files that a dataset opens in `__init__` and moves about in `__getitem__`, where loaders have workers."""
    for owner, loads in loaded_by_workers(job):
        init, getter = owner.methods.get("__init__"), owner.methods.get("__getitem__")
        if init is None or getter is None or "__getstate__" in owner.methods or _started_by(loads, job):
            continue
        for made in job.project.walk(init).assignments:
            handle = made.value
            if isinstance(handle, ast.Subscript) and isinstance(constant(handle.slice), str):
                handle = handle.value if not isinstance(handle.value, ast.Attribute) else handle
            opens = makers(handle, init, job.project, made.line)
            opened = any(canonical(one.call.func, one.function.script) in _OPENS for one in opens)
            inner = job.project.holds_class(made.value, init) if made.target.startswith("self.") else None
            if inner is not None and inner is not owner and _opens_and_moves(inner, job):
                opened = True
            elif not (opened and made.target.startswith("self.") and _is_moved(made.target[5:], owner, made.value)):
                continue
            if opened:
                yield hit(_SHARED, init, made.value, call=shown(made.value), loader=shown(loads.func), data=owner.name)


def _opens_and_moves(owner: Class, job: ScriptContext) -> bool:
    """Whether an object of a class opens a file or a connection when it is made, and its methods read from it."""
    init = owner.methods.get("__init__")
    if init is None or {"__getstate__", "__reduce__"} & set(owner.methods):
        return False
    made = [one for one in job.project.walk(init).assignments if one.target.startswith("self.")]
    opened = (m for m in made if isinstance(m.value, ast.Call) and canonical(m.value.func, init.script) in _OPENS)
    return any(_is_moved(one.target[5:], owner, one.value) for one in opened)


def loaded_by_workers(job: ScriptContext) -> Iterator[tuple[Class, ast.Call]]:
    """Yield the classes of the data sets that a DataLoader with workers reads."""
    for function, call, data in _loaders(job):
        owner = job.project.holds_class(data, function)
        if owner is not None:
            yield owner, call


def _loaders(job: ScriptContext) -> Iterator[tuple[Function, ast.Call, ast.expr]]:
    """Yield the loaders with workers, each with its data."""
    for function, call in job.calls():
        workers = keyword(call, "num_workers")
        data = call.args[0] if call.args else keyword(call, "dataset")
        if last(call.func) != "DataLoader" or workers is None or constant(workers) == 0 or data is None:
            continue
        if isinstance(constant(workers), int) or not isinstance(workers, ast.Constant):
            yield function, call, data


def not_picklable(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield what a loader cannot send to its workers, which begin as new processes and not as copies of the rank."""
    told: set[int] = set()
    for function, call, data in _loaders(job):
        method = _started_by(call, job)
        held = [*_of_loader(call, function), *_of_data(data, function, job)] if method else []
        for node, scope in held:
            if id(node) not in told:
                told.add(id(node))
                yield hit(_PICKLED, scope, node, given=shown(node), method=method, loader_line=str(call.lineno))


def _of_loader(call: ast.Call, function: Function) -> Iterator[tuple[ast.expr, Function]]:
    for name in _SENT:
        given = keyword(call, name)
        if given is not None and _is_local(given, function):
            yield given, function


def _of_data(data: ast.expr, function: Function, job: ScriptContext) -> Iterator[tuple[ast.expr, Function]]:
    """Yield what a data set keeps from its beginning on that cannot be pickled."""
    made = job.project.single(data, function) if isinstance(data, ast.Name) else data
    if isinstance(made, ast.Call) and last(made.func) in _WRAPS:
        inside = positional(made, 0)
        for one in inside.elts if isinstance(inside, (ast.List, ast.Tuple)) else [inside]:
            yield from _of_data(one, function, job) if one is not None else ()
        return
    owner = job.project.holds_class(data, function)
    init = None if owner is None else job.project.method(owner, "__init__")
    if owner is None or init is None or any(job.project.method(owner, name) for name in ("__getstate__", "__reduce__")):
        return
    kept = {one.target: one.value for one in job.project.walk(init).assignments if one.target.startswith("self.")}
    gone = {dotted(one) for node in nodes(init.node) if isinstance(node, ast.Delete) for one in node.targets}
    for value in (value for name, value in kept.items() if name not in gone):
        given = job.project.given(value.id, init) if isinstance(value, ast.Name) and value.id in init.parameters else ()
        for node, scope in ((value, init), *given):
            if _cannot_be_sent(node, scope, job):
                yield node, scope


def _cannot_be_sent(node: ast.expr, function: Function, job: ScriptContext) -> bool:
    """Whether a value is surely none that pickle takes, or holds one such."""
    match node:
        case ast.GeneratorExp():
            return True
        case ast.ListComp(elt=inner) | ast.DictComp(value=inner):
            return _cannot_be_sent(inner, function, job)
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Dict(values=parts):
            return any(_cannot_be_sent(part, function, job) for part in parts)
        case ast.Subscript(value=ast.Call() as inner, slice=ast.Constant(value=str())):
            return last(inner.func) == "File" and _cannot_be_sent(inner, function, job)
        case ast.Call():
            target = job.project.target(node, function)
            return canonical(node.func, function.script) in _UNSENT or (target is not None and is_generator(target))
    return _is_local(node, function)


def _started_by(call: ast.Call, job: ScriptContext) -> str:
    """Return the way by which a loader starts its workers where it is one that sends them what they need."""
    told = keyword(call, "multiprocessing_context")
    if told is None or constant(told) is None:
        scripts = job.project.scripts if job.mentions("set_start_method") else ()
        every = (node for script in scripts for node in script.nodes)
        chosen = (n for n in every if isinstance(n, ast.Call) and last(n.func) == "set_start_method" and n.args)
        return next((str(constant(n.args[0])) for n in chosen if constant(n.args[0]) in _NEW), "")
    for function in job.project.functions if isinstance(told, ast.Name) else ():
        if any(site.node is call for site in job.project.walk(function).sites):
            told = job.project.single(told, function) or told
    return next((str(constant(part)) for part in nodes(told) if constant(part) in _NEW), "")


def _is_moved(name: str, owner: Class, opened: ast.expr) -> bool:
    """Whether other methods than the one that opens it read from it, and nothing closes it first."""
    whole = not isinstance(opened, ast.Call) or last(opened.func) == "File"
    read = False
    for method in owner.methods.values():
        for node in nodes(method.node):
            held = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
            if whole and isinstance(node, ast.Subscript):
                held = node.value
            if not isinstance(held, ast.Attribute) or held.attr not in {name, *_views(name, owner)}:
                continue
            does = "[]" if isinstance(node, ast.Subscript) else last(node.func) if isinstance(node, ast.Call) else ""
            if does == "close" and method.name == f"{owner.name}.__init__":
                return False
            read |= (does == "[]" or does in _MOVES or held.attr != name) and method.name != f"{owner.name}.__init__"
    return read


def _views(name: str, owner: Class) -> set[str]:
    """Return the attributes that hold what `__init__` has asked of a handle: a transaction, a cursor, a data set."""
    init = owner.methods["__init__"]
    return {
        node.targets[0].attr
        for node in nodes(init.node)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Attribute)
        and _is_view(node.value, f"self.{name}")
    }


def _is_view(node: ast.expr, handle: str) -> bool:
    """Whether a value reads through a handle when it is asked: `self.file["frames"]`, but not `self.file["n"][()]`."""
    if isinstance(node, ast.Subscript):
        return dotted(node.value) == handle and isinstance(constant(node.slice), str)
    return isinstance(node, ast.Call) and dotted(node.func) in {f"{handle}.begin", f"{handle}.cursor"}


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
            given = argument(call, "target" if one else "fn", 0)
            method = keyword(call, "start_method")
            forks = method is not None and constant(method) != "spawn"
            sent = keyword(call, "args") or (call.args[1] if not one and len(call.args) > 1 else None)
            bad = next((a for a in getattr(sent, "elts", ()) if _cannot_be_sent(a, function, job)), None)
            if bad is not None and not forks:
                yield hit(_LOCAL, function, call, call=shown(call.func), given=shown(bad))
            elif given is not None and not forks and _is_local(given, function):
                yield hit(_LOCAL, function, call, call=shown(call.func), given=shown(given))
            elif isinstance(function.node, ast.Module) and not forks and id(call) not in guarded:
                yield hit(_GUARD, function, call, call=shown(call.func))


def _chooses_spawn(function: Function) -> bool:
    """Whether the function makes processes begin anew: `set_start_method("spawn")` or `get_context("spawn")`."""
    calls = (node for node in nodes(function.node) if isinstance(node, ast.Call) and node.args)
    return any(last(c.func) in _CHOOSES and constant(c.args[0]) in _NEW for c in calls)


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
        inside = not isinstance(function.node, ast.Module) and _is_started(function, job)
        if not inside and (not isinstance(function.node, ast.Module) or not _starts_processes(function.node)):
            continue
        spared = _guarded(function) | tried(function)
        for site in job.project.walk(function).sites:
            call = site.node
            if last(call.func) != "set_start_method" or id(call) in spared or not call.args:
                continue
            forced = argument(call, "force", 1)
            if constant(call.args[0]) in _NEW and constant(forced) is not True:
                yield hit(_AGAIN, function, call, call=shown(call))


def _is_started(function: Function, job: ScriptContext) -> bool:
    """Whether `spawn`, or a `Process` that begins anew, runs a function: its process has a start method already."""
    for caller, call in job.calls():
        if canonical(call.func, caller.script) in _SPAWNS:
            given = argument(call, "fn", 0)
        else:
            given = keyword(call, "target") if last(call.func) == "Process" else None
        if given is not None and job.project.referred(given, caller) is function:
            return True
    return False


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
    ScriptRule(ids=(_PICKLED,), check=not_picklable),
    ScriptRule(ids=(_LOCAL, _GUARD), check=spawned),
)
