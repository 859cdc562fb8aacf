"""Checkpoints: which one is taken for the newest, what is dropped on the way back, what is read and never used."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, keyword, last, shown, walk
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.project import Function

_SORTED, _PREFIX = "script.checkpoints-sorted-as-text", "script.wrapper-keys-dropped"
_UNUSED, _RANDOM = "script.restored-counter-unused", "script.one-random-state-for-all"
_LISTS = frozenset({"glob", "iglob", "rglob", "listdir", "iterdir", "scandir"})
_KEEPS = frozenset({"list", "tuple", "sorted", "filter", "map", "str"})
_CHECKPOINTS = re.compile(r"(?i)step|epoch|iter|ckpt|checkpoint|snapshot|model|state")
_SAVES = re.compile(r"(?i)save|dump|write|^open$|mkdir|makedirs")
_PERCENT, _BRACES = re.compile(r"%([sdi])|%[-+ #0-9.]*\w"), re.compile(r"\{(\w*)(:[^{}]*)?\}")
"""Fields of older texts: the first group says that one has no width, the other the name of one and its width."""
_DEPTH = 6
_STRIPS = frozenset({"consume_prefix_in_state_dict_if_present", "removeprefix", "unwrap_model"})
_COUNTERS = frozenset({"step", "epoch", "global_step", "iteration", "iter", "start_epoch", "start_step", "next_epoch"})
_SETS_RANDOM = frozenset({"set_rng_state", "setstate", "set_state"})


def sorted_as_text(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield the last of sorted file names where the project writes a bare number into such names: 9 comes after 10."""
    written = list(_numbered_names(job))
    for function in job.project.functions if written else ():
        for node in walk(function.node):
            listed = _last_of(node, function, job)
            if listed is None or not isinstance(node, ast.expr):
                continue
            pattern = _pattern(listed)
            name = next((text for text in written if _fits(text, pattern)), None)
            if name is not None:
                yield hit(_SORTED, function, node, call=shown(node), name=name)
                break


def _numbered_names(job: ScriptContext) -> Iterator[str]:
    """Yield names of saved files that are put together with a number of no fixed width: `step_{}.pt`."""
    for function in job.project.functions:
        for site in job.project.walk(function).sites:
            if not _SAVES.search(last(site.node.func)):
                continue
            for given in (*site.node.args, *(word.value for word in site.node.keywords)):
                value = job.project.single(given, function) if dotted(given) else given
                for node in nodes(given if value is None else value):
                    text = _put_together(node).rpartition("/")[2]
                    if "{}" in text and _CHECKPOINTS.search(text):
                        yield text


def _put_together(node: ast.AST) -> str:
    """Return a text that is made of parts, with `{}` for a bare count and `*` for what else is put in; else nothing."""
    match node:
        case ast.JoinedStr(values=values):
            return "".join(map(_part, values))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return "".join(map(_part, _sum(left, right)))
        case ast.BinOp(left=ast.Constant(value=str(text)), op=ast.Mod(), right=right):
            terms = iter(right.elts if isinstance(right, ast.Tuple) else [right])
            return _PERCENT.sub(lambda field: _filled(next(terms, None), bare=bool(field[1])), text)
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str(text)), attr="format")):
            named = {word.arg: word.value for word in node.keywords}
            given = iter(node.args)
            return _BRACES.sub(lambda field: _filled(named.get(field[1]) or next(given, None), bare=not field[2]), text)
    return ""


def _sum(*terms: ast.expr) -> Iterator[ast.expr]:
    """Yield the terms of a sum in order."""
    for term in terms:
        if isinstance(term, ast.BinOp) and isinstance(term.op, ast.Add):
            yield from _sum(term.left, term.right)
        else:
            yield term


def _part(part: ast.expr) -> str:
    """Return one part of a text; a field with a width of its own is no bare number."""
    match part:
        case ast.Constant(value=value):
            return str(value)
        case ast.FormattedValue(value=value, conversion=conversion, format_spec=spec):
            return _filled(value, bare=spec is None and conversion == -1)
        case ast.Call(func=ast.Name(id="str"), args=[value]):
            return _filled(value, bare=True)
    return "*"


def _filled(value: ast.expr | None, *, bare: bool) -> str:
    counts = value is not None and any(re.search(r"(?i)step|epoch|iter|^i$|^n$", last(node)) for node in nodes(value))
    return "{}" if bare and counts else "*"


def _last_of(node: ast.AST, function: Function, job: ScriptContext) -> ast.expr | None:
    """Return what is listed in `sorted(listed)[-1]`, `max(listed)` or `listed.sort(); listed[-1]`, without a key."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "max" and len(node.args) == 1:
        return None if node.keywords and keyword(node, "key") else _listing(node.args[0], function, job)
    if not isinstance(node, ast.Subscript) or not _is_minus_one(node.slice):
        return None
    value: ast.expr | None = node.value
    if isinstance(value, ast.Name):
        in_place = any(_is_plain_sort(part, value.id) for part in walk(function.node))
        value = job.project.single(value, function)
        if in_place:
            return _listing(value, function, job)
    if isinstance(value, ast.Call) and last(value.func) == "sorted" and value.args and keyword(value, "key") is None:
        return _listing(value.args[0], function, job)
    return None


def _is_plain_sort(node: ast.AST, name: str) -> bool:
    """Whether this is `name.sort()`."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=sorted_name), attr="sort"), args=[], keywords=[]):
            return sorted_name == name
    return False


def _is_minus_one(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and constant(node.operand) == 1


def _listing(node: ast.expr | None, function: Function, job: ScriptContext, depth: int = 0) -> ast.expr | None:
    """Return the call that lists a folder, behind names, filters and comprehensions of bare names."""
    if node is None or depth > _DEPTH:
        return None
    if isinstance(node, ast.Name):
        return _listing(job.project.single(node, function), function, job, depth + 1)
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        turns = any(isinstance(part, ast.Call) and last(part.func) in {"int", "float"} for part in nodes(node.elt))
        return _listing(node.generators[0].iter, function, job, depth + 1) if not turns else None
    if isinstance(node, ast.Call):
        if last(node.func) in _LISTS:
            return node
        if last(node.func) in _KEEPS and node.args:
            return _listing(node.args[-1], function, job, depth + 1)
    return None


def _pattern(listed: ast.expr) -> str:
    """The last part of a glob's pattern, where it is written out."""
    texts = [part.value for part in nodes(listed) if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    return texts[-1].rpartition("/")[2] if texts else "*"


def _fits(name: str, pattern: str) -> bool:
    """Whether names of this form are among those that the pattern lists, by what both begin with."""
    begins = pattern.partition("*")[0]
    own = name.partition("{}")[0].partition("*")[0]
    return own.startswith(begins) if begins else bool(own)


def keys_dropped(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield loads with `strict=False` into a bare model of the file to which the wrapped one's state is saved."""
    if job.mentions(*_STRIPS) or any("module." in word for word in job.vocabulary):
        return
    written = _wrapped_states(job)
    for function in job.project.functions if written else ():
        for site in job.project.walk(function).sites:
            call = site.node
            if last(call.func) != "load_state_dict" or constant(keyword(call, "strict")) is not False:
                continue
            owner = call.func.value if isinstance(call.func, ast.Attribute) else call
            bare = kinds.kind_of(owner, function, job.project, call.lineno) == "" or last(owner) == "module"
            given = call.args[0] if call.args else call
            read = _load_of(given.value if isinstance(given, ast.Subscript) else given, function, job)
            saved = written.get(_file(read.args[0], function, job)) if read is not None and read.args else None
            if bare and saved is not None:
                yield hit(_PREFIX, function, call, call=shown(call), saved=shown(saved))


def _wrapped_states(job: ScriptContext) -> dict[str, ast.expr]:
    """Return the calls of `state_dict` on a model that DDP wraps, by the file that `torch.save` puts them in."""
    found: dict[str, ast.expr] = {}
    for function in job.project.functions:
        for site in job.project.walk(function).sites:
            call = site.node
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
    value = job.project.single(path, function) if dotted(path) else None
    texts = [n.value for n in nodes(path if value is None else value) if isinstance(n, ast.Constant)]
    named = [text for text in texts if isinstance(text, str) and "." in text]
    return named[-1].rpartition("/")[2] if named else shown(path if value is None else value)


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
        return {node.id for node in nodes(function.node) if isinstance(node, ast.Name)}
    return {
        name for node in nodes(function.node) if isinstance(node, (ast.Global, ast.Nonlocal)) for name in node.names
    }


def _load_of(node: ast.expr, function: Function, job: ScriptContext) -> ast.Call | None:
    """Return the `torch.load` that gives an expression, or that was last assigned to this name above it."""
    made = job.project.walk(function).assigned(dotted(node), before=node.lineno) if dotted(node) else []
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
            if last(call.func) not in _SETS_RANDOM or not call.args or site.where.side != "both":
                continue
            full = canonical(call.func, function.script)
            if not full.startswith(("torch.", "random.", "numpy.random.")):
                continue
            held = call.args[0]
            while isinstance(held, ast.Subscript):
                held = held.value
            loaded = _load_of(held, function, job)
            if loaded is None or not loaded.args:
                continue
            if not _is_per_rank(loaded.args[0], function, job) and not _seeded_by_rank_later(function, call, job):
                yield hit(_RANDOM, function, call, call=shown(call), file=shown(loaded.args[0]))
                break


def _is_per_rank(path: ast.expr, function: Function, job: ScriptContext) -> bool:
    return any(reason.origin in {"rank", "part"} for reason in job.origins.of(path, function))


def _seeded_by_rank_later(function: Function, call: ast.Call, job: ScriptContext) -> bool:
    """Whether the random numbers are told apart by rank again: by a seed with the rank in it that is not set before."""
    restored = _lines(function, call.lineno, job)
    for other in job.project.functions:
        for site in job.project.walk(other).sites:
            seeds = last(site.node.func) in {"manual_seed", "seed", "set_seed", "seed_everything"}
            if seeds and any(r.origin == "rank" for a in site.node.args for r in job.origins.of(a, other)):
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
    ScriptRule(ids=(_SORTED,), check=sorted_as_text),
    ScriptRule(ids=(_PREFIX,), check=keys_dropped),
    ScriptRule(ids=(_UNUSED,), check=counter_unused),
    ScriptRule(ids=(_RANDOM,), check=one_random_state),
)
