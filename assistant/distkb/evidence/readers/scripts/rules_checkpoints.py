"""Checkpoints: what is dropped on the way back, what is read and never used."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import keyword, receiver
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import roots
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last, names_in, shown
from distkb.evidence.readers.scripts.nodes import nodes

_PREFIX = "script.wrapper-keys-dropped"
_UNUSED, _RANDOM = "script.restored-counter-unused", "script.one-random-state-for-all"
_STRIPS = frozenset({"consume_prefix_in_state_dict_if_present", "removeprefix", "unwrap_model"})
_COUNTERS = frozenset({"step", "epoch", "global_step", "iteration", "iter", "start_epoch", "start_step", "next_epoch"})
SETS_RANDOM = frozenset({"set_rng_state", "setstate", "set_state"})


def keys_dropped(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield loads with `strict=False` into a bare model of the file to which the wrapped one's state is saved."""
    if job.mentions(*_STRIPS) or any("module." in word for word in job.vocabulary):
        return
    written = _wrapped_states(job)
    for function, call in job.calls() if written else ():
        if last(call.func) != "load_state_dict" or constant(keyword(call, "strict")) is not False:
            continue
        owner = receiver(call) or call
        bare = kinds.kind_of(owner, function, job.project, call.lineno) == "" or last(owner) == "module"
        given = call.args[0] if call.args else call
        read = _load_of(given.value if isinstance(given, ast.Subscript) else given, function, job)
        saved = written.get(_file(read.args[0], function, job)) if read is not None and read.args else None
        if bare and saved is not None:
            yield hit(_PREFIX, function, call, call=shown(call), saved=shown(saved))


def _wrapped_states(job: ScriptContext) -> dict[str, ast.expr]:
    """Return the calls of `state_dict` on a model that DDP wraps, by the file that `torch.save` puts them in."""
    found: dict[str, ast.expr] = {}
    for function, call in job.calls():
        if canonical(call.func, function.script) != "torch.save" or len(call.args) < 2:
            continue
        made = job.project.walk(function).assigned(dotted(call.args[0]), before=call.lineno)
        for node in nodes(made[-1].value if made else call.args[0]):
            if isinstance(node, ast.Call) and _is_wrapped_state(node, function, job):
                found[_file(call.args[1], function, job)] = node
    return found


def _is_wrapped_state(call: ast.Call, function: Function, job: ScriptContext) -> bool:
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "state_dict":
        return False
    return kinds.kind_of(call.func.value, function, job.project, call.lineno) == kinds.DDP


def _file(path: ast.expr, function: Function, job: ScriptContext) -> str:
    """Return what names a file: the text of the expression behind its variable, without the folder before a name."""
    written = job.project.single(path, function) or path
    texts = [n.value for n in nodes(written) if isinstance(n, ast.Constant)]
    named = [text for text in texts if isinstance(text, str) and "." in text]
    return named[-1].rpartition("/")[2] if named else shown(written)


def counter_unused(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield an epoch or step that is read into a name that nothing reads, where an optimizer is brought back too."""
    for function in job.project.functions:
        if not _brings_back_optimizer(function, job):
            continue
        read = {
            node.id for node in nodes(function.node) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        }
        walk = job.project.walk(function)
        for made in walk.assignments:
            value = made.value.left if isinstance(made.value, ast.BinOp) else made.value
            if not isinstance(value, ast.Subscript) or constant(value.slice) not in _COUNTERS:
                continue
            unused = made.target.isidentifier() and made.target not in read | _shared(function)
            if unused and _load_of(value.value, function, job) is not None:
                yield hit(_UNUSED, function, value, name=made.target, value=shown(value))


def _brings_back_optimizer(function: Function, job: ScriptContext) -> bool:
    """Whether the function resumes training: it loads an optimizer's state."""
    for site in job.project.walk(function).sites:
        named = site.node.func
        if isinstance(named, ast.Attribute) and named.attr == "load_state_dict":
            kind = kinds.kind_of(named.value, function, job.project, site.node.lineno)
            if kind == kinds.OPTIMIZER or re.search(r"(?i)^opt", last(named.value)):
                return True
    return False


def _shared(function: Function) -> set[str]:
    """Names that others may read: of a module, and those that a function declares global."""
    if isinstance(function.node, ast.Module):
        return names_in(function.node)
    return {
        name for node in nodes(function.node) if isinstance(node, (ast.Global, ast.Nonlocal)) for name in node.names
    }


def _load_of(node: ast.expr, function: Function, job: ScriptContext) -> ast.Call | None:
    """Return the `torch.load` that gives an expression, or that was last assigned to this name above it."""
    made = job.project.walk(function).assigned(dotted(node), before=node.lineno) if dotted(node) else []
    if not made and isinstance(node, ast.Name) and node.id in function.parameters:
        given = list(job.project.given(node.id, function))
        inner = [value.value if isinstance(value, ast.Subscript) else value for value, _ in given]
        return _load_of(inner[0], given[0][1], job) if len(given) == 1 and dotted(inner[0]) else None
    value = made[-1].value if made else node
    loads = isinstance(value, ast.Call) and canonical(value.func, function.script) == "torch.load"
    return value if loads and isinstance(value, ast.Call) else None


def one_random_state(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield random states that every rank takes from one file, which one rank wrote."""
    if not job.mentions("init_process_group", "Accelerator", "DistributedDataParallel", "fully_shard"):
        return
    for function in job.project.functions:
        for site in job.project.walk(function).sites:
            call = site.node
            if last(call.func) not in SETS_RANDOM or not call.args or site.where.side != "both":
                continue
            full = canonical(call.func, function.script)
            if not full.startswith(("torch.", "random.", "numpy.random.")):
                continue
            loaded = next((one for one in _loads(call.args[0], function, job) if one.args), None)
            if loaded is None or _is_per_rank(call.args[0], function, job):
                continue
            if not _is_per_rank(loaded.args[0], function, job) and not _seeded_by_rank_later(function, call, job):
                yield hit(_RANDOM, function, call, call=shown(call), file=shown(loaded.args[0]))
                break


def _loads(node: ast.expr, function: Function, job: ScriptContext) -> Iterator[ast.Call]:
    """Yield the `torch.load` calls of which a value is a part."""
    for root, scope in roots(node, function, job.project):
        loaded = _load_of(root, scope, job)
        if loaded is not None:
            yield loaded


def _is_per_rank(path: ast.expr, function: Function, job: ScriptContext) -> bool:
    return job.origins.depends([path], function, "rank", "part")


def _seeded_by_rank_later(function: Function, call: ast.Call, job: ScriptContext) -> bool:
    """Whether the random numbers are told apart by rank again: by a seed with the rank in it that is not set before."""
    restored = _lines(function, call.lineno, job)
    for other, site in job.sites():
        seeds = last(site.node.func) in {"manual_seed", "seed", "set_seed", "seed_everything"}
        if seeds and job.origins.depends(site.node.args, other, "rank"):
            seeded = _lines(other, site.node.lineno, job)
            common = restored.keys() & seeded.keys()
            if not common or any(max(seeded[name]) > min(restored[name]) for name in common):
                return True
    return False


def _lines(function: Function, line: int, job: ScriptContext, depth: int = 3) -> dict[str, set[int]]:
    """Return in which functions a line is run, and at which of their lines: its own, and those of the calls to it."""
    found = {function.name: {line}}
    for caller, site in job.project.callers(function) if depth else ():
        for name, lines in _lines(caller, site.node.lineno, job, depth - 1).items():
            found.setdefault(name, set()).update(lines)
    return found


RULES = (
    ScriptRule(ids=(_PREFIX,), check=keys_dropped),
    ScriptRule(ids=(_UNUSED,), check=counter_unused),
    ScriptRule(ids=(_RANDOM,), check=one_random_state),
)
