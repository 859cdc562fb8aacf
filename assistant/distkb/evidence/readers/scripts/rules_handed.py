"""Files between ranks, read early or written by too many, keys of a wrapper, and errors that one rank catches."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import argument, keyword, positional, receiver
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last, shown, words
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.rules_files import WRITERS, as_text

_READ, _LOCAL, _ALL = "script.read-before-written", "script.saved-on-every-node", "script.state-saved-by-all"
_KEYS, _CAUGHT, _MADE = "script.wrapped-keys-loaded-bare", "script.step-error-caught", "script.made-by-every-rank"
_READS = {"torch.load": 0, "open": 0, "numpy.load": 0}
_WAITS = frozenset({"barrier", "wait_for_everyone", "monitored_barrier", "broadcast_object_list", "broadcast",
                    "all_reduce", "all_gather", "all_gather_object", "sleep", "wait",
                    "main_process_first"})  # fmt: skip
_STRIPS = ("removeprefix", "consume_prefix_in_state_dict_if_present", "module.", "_orig_mod.", "unwrap_model",
           "_orig_mod", "get_model_state_dict", "module.module", "lstrip")  # fmt: skip
_OWN = re.compile(
    r"(?i)rank|main|master|primary|chief|process|shard|should_save|is_save|writer|(global|world|process)_zero|leader|\bgpu"
)
_WRAPPERS = frozenset({"DistributedDataParallel", "DDP"})
"""Where one of these is made, another rule looks."""
_HOOKS = re.compile(r"^on_(train|validation|test|fit)_\w+$")
_CALLBACKS = ("Callback", "LightningModule")
_MODEL = re.compile(r"(?i)model|net|module|encoder|backbone")
_MEMORY = re.compile(r"(?i)out of memory|OutOfMemory|RuntimeError|Exception|CUDA")


def read_early(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield files that all ranks read below the line where one writes them, with nothing between that they wait at."""
    for function in job.project.functions:
        sites = job.project.walk(function).sites
        written = [(site, _place(site, function, job, write=True)) for site in sites if site.where.side == "main"]
        for first, path in written:
            if not path:
                continue
            for site in sites:
                later = site.node.lineno > first.node.lineno and site.where.side == "both"
                if (
                    later
                    and _place(site, function, job, write=False) == path
                    and not _waits(first, site, function, job)
                ):
                    yield hit(_READ, function, site.node, path=path, write_line=str(first.node.lineno))
                    break


def _place(site: Site, function: Function, job: ScriptContext, *, write: bool, depth: int = 0) -> str:
    """Return the path that a call writes or reads, as text; empty where it does neither."""
    call = site.node
    full = canonical(call.func, function.script)
    place = (WRITERS if write else _READS).get(full)
    target = job.project.target(call, function) if place is None and depth == 0 else None
    if target is not None and target.owner is not None:
        found = [_place(one, target, job, write=write, depth=1) for one in job.project.walk(target).sites]
        return next((f"{target.owner.name}: {path}" for path in found if path.startswith("self.") or "'" in path), "")
    if place is None or len(call.args) <= place:
        return ""
    if full == "open":
        mode = constant(argument(call, "mode", 1))
        writes = isinstance(mode, str) and mode[:1] in {"w", "x", "a"}
        if writes is not write:
            return ""
    path = call.args[place]
    return as_text(path, function, job) if depth == 0 else shown(path)


def _waits(first: Site, later: Site, function: Function, job: ScriptContext) -> bool:
    """Whether a call between two lines waits for other ranks, or the function goes only on with one."""
    for site in job.project.walk(function).sites:
        between = first.node.lineno <= site.node.lineno <= later.node.lineno
        if between and (last(site.node.func) in _WAITS or job.effects.of_call(site.node, function)):
            return True
    return bool({last(getattr(block, "func", block)) for block in first.where.blocks} & _WAITS)


def made_by_all(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield files that each rank writes in place where it does not find them, and that the others read meanwhile."""
    if not job.is_parallel or job.mentions("FileLock", "replace", "rename", "main_process_first", "flock", "barrier"):
        return
    for function in job.project.functions:
        sites = job.project.walk(function).sites
        for site in sites:
            path = _place(site, function, job, write=True) if site.where.side == "both" else ""
            asked = [part for test in site.where.tests for part in nodes(test) if isinstance(part, ast.Call)]
            looked = next((one for one in asked if last(one.func) in {"exists", "isfile", "is_file"}), None)
            if not path or looked is None or any(_OWN.search(w) for t in site.where.tests for w in words(t)):
                continue
            under = (looked.args[0] if looked.args else getattr(looked.func, "value", None)) or looked
            value = job.project.single(under, function)
            same = shown(under if value is None else value) == path
            read = any(_place(one, function, job, write=False) == path for one in sites)
            if same and read and not any(_OWN.search(word) for word in words(under)) and _is_run(function, job):
                yield hit(_MADE, function, site.node, path=path, test=shown(looked))
                break


def _is_run(function: Function, job: ScriptContext) -> bool:
    """Whether nothing lets only some ranks come to a function."""
    return all(site.where.side == "both" for _, site in job.project.callers(function))


def on_every_node(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield states that the first rank of each node writes, each over the others' on storage that the nodes share."""
    for function in job.project.functions:
        for site in job.project.walk(function).sites:
            call, guard = site.node, site.where.guard
            saves = canonical(call.func, function.script) == "torch.save" or last(call.func) == "save_pretrained"
            if not saves or site.where.side != "main" or guard is None or not isinstance(guard.node, ast.expr):
                continue
            test = guard.node
            values = [job.project.single(n, function) for n in nodes(test) if isinstance(n, (ast.Name, ast.Attribute))]
            said = words(test) | {word for value in values if value is not None for word in words(value)}
            by_node = any(re.search(r"(?i)node|host|group_rank", word) for word in words(call))
            is_state = last(call.func) == "save_pretrained" or "state_dict" in words(call) | _kept(call, function, job)
            if is_state and any("local" in word.lower() for word in said) and not by_node and not _is_global(said):
                yield hit(_LOCAL, function, call, call=shown(call.func), test=shown(test))
                break


def _kept(call: ast.Call, function: Function, job: ScriptContext) -> set[str]:
    """Return what the names say that a call saves."""
    value = job.project.single(call.args[0], function) if call.args and dotted(call.args[0]) else None
    return words(value) if value is not None else set()


def _is_global(said: set[str]) -> bool:
    """Whether a test asks for the number among all ranks as well."""
    asked = {"rank", "RANK", "get_rank", "global_rank", "node_rank", "NODE_RANK", "GROUP_RANK", "nnodes", "num_nodes"}
    return bool(said & asked)


def saved_by_all(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield states of a wrapped model that a function, a hook or an object writes to one path on every rank."""
    for function in job.project.functions:
        wraps = job.project.walk(function).calls(*_WRAPPERS)
        for site in job.project.walk(function).sites if not wraps else ():
            call = site.node
            if site.where.side != "both" or canonical(call.func, function.script) != "torch.save" or len(call.args) < 2:
                continue
            saved = _saved(call.args[0], function, job)
            said = words(call) | {word for test in site.where.tests for word in words(test)}
            said |= {word for value, _ in saved for word in words(value)}
            path = job.project.single(call.args[1], function)
            said |= words(path) if path is not None else set()
            if any(_OWN.search(word) for word in said) or "state_dict" not in said:
                continue
            if job.origins.depends((*site.where.tests, call.args[1]), function, "rank"):
                continue
            if _is_by_all(call, saved, function, job):
                yield hit(_ALL, function, call, call=shown(call.func), path=shown(call.args[1]))
                break


def _saved(node: ast.expr, function: Function, job: ScriptContext) -> list[tuple[ast.expr, Function]]:
    """Return what is saved, be it what callers hand to a helper."""
    if isinstance(node, ast.Name) and node.id in function.parameters:
        return list(job.project.given(node.id, function))
    return [(node, function)]


def _is_by_all(call: ast.Call, saved: list[tuple[ast.expr, Function]], function: Function, job: ScriptContext) -> bool:
    """Whether all ranks surely come to a place: a hook of Lightning's, or a helper for wrapped models."""
    owner = function.owner
    hook = function.name.rpartition(".")[2]
    if owner is not None and any(last(base) in _CALLBACKS for base in owner.node.bases):
        return bool(_HOOKS.match(hook)) and job.mentions("ddp", "ddp_spawn", "DDPStrategy")
    if any(_OWN.search(word) for word in words(function.node) - words(call)):
        return False
    known: list[str] = []
    for value, scope in saved:
        for part in nodes(value):
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr == "state_dict":
                base = part.func.value
                inner = base.value if isinstance(base, ast.Attribute) and base.attr == "module" else base
                known.append(kinds.kind_of(inner, scope, job.project, part.lineno))
    wrapped = kinds.DDP in known or (kinds.PREPARED in known and job.mentions("Accelerator"))
    return wrapped and _all_come(function, job, 0)


def _all_come(function: Function, job: ScriptContext, depth: int) -> bool:
    """Whether every call of a function, and of those that call it, is made on all ranks."""
    if depth > 4:
        return False
    for caller, site in job.project.callers(function):
        tested = {word for test in site.where.tests for word in words(test)}
        if (
            site.where.side != "both"
            or any(_OWN.search(word) for word in tested)
            or not _all_come(caller, job, depth + 1)
        ):
            return False
        if job.origins.depends(site.where.tests, caller, "rank"):
            return False
    return True


def keys_of_wrapper(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield states saved from inside of DDP's wrapper or torch.compile's that the project loads into a bare model."""
    if job.mentions(*_STRIPS):
        return
    loads = [(f, s) for f, s in job.sites() if _loads_bare(s, f, job)]
    for function, site in job.sites() if loads else ():
        if canonical(site.node.func, function.script) != "torch.save" or len(site.node.args) < 2:
            continue
        for key, call in _saved_states(site.node.args[0], function, job):
            owner = receiver(call) or call.func
            if kinds.kind_of(owner, function, job.project, site.node.lineno) != kinds.DDP:
                continue
            path = as_text(site.node.args[1], function, job)
            for scope, load in loads:
                if _kept_under(load.node, scope, job) == (key, path) or _may_fit(load, scope, job, key, path):
                    values = {
                        "model": shown(owner),
                        "load": shown(load.node.func),
                        "load_line": str(load.node.lineno),
                    }
                    yield hit(_KEYS, function, call, **values)
                    return


def _saved_states(saved: ast.expr, function: Function, job: ScriptContext) -> Iterator[tuple[str, ast.Call]]:
    """Yield the states that are saved, each with the key under which it stands; an empty one where it is all."""
    value = job.project.single(saved, function) if dotted(saved) else saved
    if isinstance(value, ast.Dict):
        for key, one in zip(value.keys, value.values, strict=True):
            if isinstance(one, ast.Call) and last(one.func) == "state_dict" and isinstance(constant(key), str):
                yield str(constant(key)), one
    elif isinstance(value, ast.Call) and last(value.func) == "state_dict":
        yield "", value


def _kept_under(load: ast.Call, function: Function, job: ScriptContext) -> tuple[str, str]:
    """Return the key under which a state is taken out of what was loaded, and the path, as text."""
    given: ast.expr | None = positional(load, 0)
    key = ""
    for _ in range(4):
        if isinstance(given, ast.Subscript):
            key, given = str(constant(given.slice)), given.value
        elif given is not None and dotted(given):
            given = job.project.walk(function).last_value(dotted(given), before=load.lineno)
    is_load = isinstance(given, ast.Call) and last(given.func) == "load" and bool(given.args)
    return (key, as_text(given.args[0], function, job)) if isinstance(given, ast.Call) and is_load else (key, "?")


def _may_fit(load: Site, function: Function, job: ScriptContext, key: str, path: str) -> bool:
    """Whether a state that is kept under the same key may be of a file whose name is not written out alike."""
    other, where = _kept_under(load.node, function, job)
    literal = {text[:1] in {"'", '"'} for text in (path, where)}
    return other == key and where != "?" and True not in literal and (bool(key) or "resume" in where)


def _loads_bare(site: Site, function: Function, job: ScriptContext) -> bool:
    """Whether a call puts a state into a model that is surely not wrapped at its place."""
    named = site.node.func
    if not isinstance(named, ast.Attribute) or named.attr != "load_state_dict":
        return False
    if kinds.kind_of(named.value, function, job.project, site.node.lineno) or not _MODEL.search(last(named.value)):
        return False
    return constant(keyword(site.node, "strict")) is not False


def caught(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield handlers that let a rank go on when its step has failed, where the others wait for its gradients."""
    if not job.is_parallel:
        return
    for function in job.project.functions:
        walk = job.project.walk(function)
        for node in nodes(function.node):
            if not isinstance(node, ast.Try):
                continue
            lines = range(node.body[0].lineno, (node.body[-1].end_lineno or 0) + 1)
            inside = [site for site in walk.sites if site.node.lineno in lines]
            if not all(any(_reaches(name, site, function, job) for site in inside) for name in ("backward", "step")):
                continue
            for handler in node.handlers:
                if _goes_on(handler):
                    caught_as = shown(handler.type) if handler.type is not None else "except"
                    found = hit(_CAUGHT, function, node, caught=caught_as)
                    yield ScriptFinding(
                        found.id, found.script, handler.lineno, {**found.values, "line": str(handler.lineno)}
                    )
                    break


def _reaches(name: str, site: Site, function: Function, job: ScriptContext, depth: int = 0) -> bool:
    """Whether a call is a method of this name, or runs a function of the project that calls one."""
    if last(site.node.func) == name:
        return True
    target = job.project.target(site.node, function) if depth < 2 else None
    if target is None or target is function:
        return False
    return any(_reaches(name, one, target, job, depth + 1) for one in job.project.walk(target).sites)


def _goes_on(handler: ast.ExceptHandler) -> bool:
    """Whether a handler for a step's errors ends without raising, for memory at least, and speaks to no other rank."""
    if handler.type is not None and not _MEMORY.search(shown(handler.type)):
        return False
    said = words(handler)
    if said & {
        "exit",
        "_exit",
        "abort",
        "all_reduce",
        "barrier",
        "destroy_process_group",
        "all_gather",
        "broadcast",
        "fail",
    }:
        return False
    return not isinstance(handler.body[-1], ast.Raise) or any(
        isinstance(part, (ast.Continue, ast.Return)) for statement in handler.body for part in nodes(statement)
    )


RULES = (
    ScriptRule(ids=(_READ,), check=read_early),
    ScriptRule(ids=(_MADE,), check=made_by_all),
    ScriptRule(ids=(_LOCAL,), check=on_every_node),
    ScriptRule(ids=(_ALL,), check=saved_by_all),
    ScriptRule(ids=(_KEYS,), check=keys_of_wrapper),
    ScriptRule(ids=(_CAUGHT,), check=caught),
)
