"""What every rank takes of the cores of its machine: threads and workers for all of them, or the same few."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import keyword
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import Meaning, literals
from distkb.evidence.readers.scripts.names import canonical, constant, last, shown
from distkb.evidence.readers.scripts.nodes import nodes

_THREADS, _WORKERS = "script.threads-of-machine", "script.workers-of-machine"
_BOUND, _SPAWNED = "script.bound-to-same-cores", "script.spawned-without-threads"
_COUNTS = frozenset({"cpu_count", "process_cpu_count", "sched_getaffinity"})
_SETS = frozenset({"torch.set_num_threads", "cv2.setNumThreads", "numba.set_num_threads", "mkl.set_num_threads"})
_VARIABLES = frozenset({"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS"})
_SAME = frozenset({"str", "int", "len", "list", "set", "range"})
_STARTS = ("torch.multiprocessing.spawn", "torch.multiprocessing.start_processes")
_DEPTH = 4


def _is_whole(node: ast.expr | None, function: Function, job: ScriptContext, depth: int = 0) -> bool:
    """Whether a value is the number of the machine's cores, which nobody has divided or limited."""
    found: list[Meaning] = []
    match node:
        case ast.Name() | ast.Attribute():
            found = job.project.stands_for(node, function)
        case ast.BoolOp(op=ast.Or(), values=[first, *_]):
            found = [(first, function)]
        case ast.BinOp(left=left, op=ast.Sub() | ast.Mult(), right=ast.Constant()):
            found = [(left, function)]
        case ast.Call(func=func, args=args):
            full = canonical(func, function.script)
            if last(func) in _COUNTS and "." in full:
                return True
            same = full in _SAME and bool(args)
            found = [(args[-1], function)] if same else job.project.returned(node, function)
    return depth < _DEPTH and bool(found) and all(_is_whole(value, scope, job, depth + 1) for value, scope in found)


def whole_machine(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield thread limits and loaders for which each of several ranks counts all cores of the machine as its own."""
    if not job.is_parallel or not job.mentions(*_COUNTS):
        return
    for function, site in job.sites():
        call, full = site.node, canonical(site.node.func, function.script)
        if full in _SETS and call.args and _is_whole(call.args[0], function, job):
            yield hit(_THREADS, function, call, call=shown(call), count=shown(call.args[0]))
        elif full.startswith("torch.utils.data.") and last(call.func) == "DataLoader":
            workers = keyword(call, "num_workers")
            if workers is not None and _is_whole(workers, function, job):
                yield hit(_WORKERS, function, call, count=shown(workers))
    yield from _variables(job)


def _variables(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield variables for all cores that are set above the import of torch, which reads them when it is loaded."""
    for script in job.project.scripts:
        imports = [
            node.lineno for node in script.nodes if isinstance(node, (ast.Import, ast.ImportFrom)) and _loads(node)
        ]
        for node in script.tree.body if imports else ():
            if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Subscript):
                continue
            top = job.project.modules[id(script)]
            named = constant(node.targets[0].slice) in _VARIABLES and node.lineno < min(imports)
            if named and _is_whole(node.value, top, job):
                yield hit(_THREADS, top, node, call=shown(node), count=shown(node.value))


def _loads(node: ast.Import | ast.ImportFrom) -> bool:
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
    return any(
        name.partition(".")[0] in {"torch", "numpy", "lightning", "transformers", "accelerate"} for name in names
    )


def same_cores(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield bindings to cores that are the same for every rank of a machine."""
    for function, site in job.sites() if job.is_parallel else ():
        cores = _bound(site, function)
        if cores is None or isinstance(cores, ast.Constant) or _is_whole(cores, function, job):
            continue
        fixed = not any(isinstance(part, (ast.Name, ast.Attribute)) for part in _values(cores))
        if fixed and site.where.side == "both" and not job.origins.depends(site.where.tests, function, "rank"):
            yield hit(_BOUND, function, site.node, call=shown(site.node), cores=shown(cores))


def _bound(site: Site, function: Function) -> ast.expr | None:
    """Return the cores to which a call binds the process that makes it."""
    call = site.node
    if canonical(call.func, function.script) == "os.sched_setaffinity" and len(call.args) == 2:
        return call.args[1] if constant(call.args[0]) == 0 else None
    own = isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Call)
    if last(call.func) == "cpu_affinity" and own and isinstance(call.func, ast.Attribute) and call.args:
        made = call.func.value
        whose = isinstance(made, ast.Call) and last(made.func) == "Process" and not made.args
        return call.args[0] if whose else None
    return None


def _values(node: ast.expr) -> Iterator[ast.AST]:
    """Yield the parts of an expression other than the names of what is called."""
    called = {id(part.func) for part in nodes(node) if isinstance(part, ast.Call)}
    return (part for part in nodes(node) if id(part) not in called)


def without_threads(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield starts of several processes that compute on the CPU, where nothing limits the threads of each."""
    if job.mentions(*_VARIABLES, "set_num_threads", "threadpool_limits", "cuda", "nccl", "init_rpc"):
        return
    for function, call in job.calls_of(*_STARTS):
        count = keyword(call, "nprocs")
        numbers = [] if count is None else literals(count, function, job.project)
        if numbers and all(isinstance(one, int) and one > 1 for one in numbers) and job.mentions("backward"):
            yield hit(_SPAWNED, function, call, call=shown(call.func), count=str(numbers[0]))


RULES = (
    ScriptRule(ids=(_THREADS, _WORKERS), check=whole_machine),
    ScriptRule(ids=(_BOUND,), check=same_cores),
    ScriptRule(ids=(_SPAWNED,), check=without_threads),
)
