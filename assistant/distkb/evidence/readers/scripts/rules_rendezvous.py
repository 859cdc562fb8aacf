"""Files through which the ranks find each other, and which an earlier run may have left behind."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import argument, positional
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last, shown, words
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.ranks import environment

_STAYS = "script.rendezvous-file-stays"
_SCHEME = "file://"
_NEW = re.compile(
    r"(?i)job|uuid|run_?id|temp|tmp|attempt|restart|time|stamp|date|unique|session|pid|token|nonce|random"
)
"""Names of what is another thing at every start."""
_SETTINGS = re.compile(r"(?i)^(?:args?|cfg|conf|config|opts?|options|hparams|settings|flags|params)$")
_PLACES = frozenset({"HOME", "USER", "PWD", "TMPDIR", "SCRATCH", "WORK", "WORKDIR", "LOGNAME", "HOSTNAME", ""})
"""Variables that name a place, and not a job."""
_REMOVES = frozenset({"remove", "unlink", "rmtree"})
_DEPTH = 5


def stays(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield files of a fixed name through which a group is made, and which no script removes."""
    for function, call in job.calls() if job.mentions("init_process_group", "FileStore") else ():
        path = _file(call, function, job)
        if path is None:
            continue
        parts = list(_parts(path, function, job, 0))
        if not any(isinstance(part, ast.Constant) and _is_place(part.value) for part, _ in parts):
            continue
        if not any(_is_new(part, scope, job) for part, scope in parts) and not _is_removed(parts, job):
            yield hit(_STAYS, function, call, path=shown(path))


def _file(call: ast.Call, function: Function, job: ScriptContext) -> ast.expr | None:
    """Return the file that a call makes a group through: of a store, or a text that begins with `file://`."""
    full = canonical(call.func, function.script)
    if full in {"torch.distributed.FileStore", "torch.distributed.distributed_c10d.FileStore"}:
        return positional(call, 0)
    if full != "torch.distributed.init_process_group":
        return None
    given = argument(call, "init_method", 1)
    for _ in range(_DEPTH):
        if not isinstance(given, (ast.Name, ast.Attribute)):
            break
        given = next((value for value, _ in _held(given, function, job)), None)
    return given if given is not None and _starts_as_file(given) else None


def _starts_as_file(node: ast.expr) -> bool:
    match node:
        case ast.JoinedStr(values=[first, *_]) | ast.BinOp(left=first):
            return _starts_as_file(first)
        case ast.Call(func=ast.Attribute(value=ast.Constant() as text, attr="format")):
            return _starts_as_file(text)
    return str(constant(node)).startswith(_SCHEME)


def _is_place(value: object) -> bool:
    """Whether a text holds a part of a path beside the scheme."""
    return isinstance(value, str) and any(char.isalnum() for char in value.removeprefix(_SCHEME))


def _parts(node: ast.AST, function: Function, job: ScriptContext, depth: int) -> Iterator[tuple[ast.AST, Function]]:
    """Yield everything that a path is made of, also behind names and the project's functions."""
    for part in nodes(node):
        yield part, function
        if depth >= _DEPTH:
            continue
        if isinstance(part, (ast.Name, ast.Attribute)):
            for value, scope in _held(part, function, job):
                yield from _parts(value, scope, job, depth + 1)
        elif isinstance(part, ast.Call):
            for value, scope in job.project.returned(part, function):
                yield from _parts(value, scope, job, depth + 1)


def _held(node: ast.Name | ast.Attribute, function: Function, job: ScriptContext) -> list[tuple[ast.expr, Function]]:
    held = job.project.stands_for(node, function)
    if held:
        return held
    value = job.project.single(node, function) or (function.default(node.id) if isinstance(node, ast.Name) else None)
    return [] if value is None else [(value, function)]


def _is_new(part: ast.AST, function: Function, job: ScriptContext) -> bool:
    """Whether a part of a path may be another one at every start: by its name, or as nobody knows what it holds."""
    if isinstance(part, (ast.Subscript, ast.Call)) and "environ" in words(part) | {last(getattr(part, "func", part))}:
        return environment(part) not in _PLACES
    if isinstance(part, ast.Call):
        full = canonical(part.func, function.script)
        return full.endswith("getenv") or bool(_NEW.search(full))
    if isinstance(part, ast.Attribute):
        if _NEW.search(part.attr):
            return True
        own = isinstance(part.value, ast.Name) and part.value.id == "self"
        return (
            own and isinstance(part.ctx, ast.Load) and not _held(part, function, job) and not _is_method(part, function)
        )
    if not isinstance(part, ast.Name):
        return False
    open_parameter = part.id in function.parameters and not _held(part, function, job)
    return bool(_NEW.search(part.id)) or (open_parameter and part.id != "self" and not _SETTINGS.match(part.id))


def _is_method(node: ast.Attribute, function: Function) -> bool:
    return function.owner is not None and node.attr in function.owner.methods


def _is_removed(parts: list[tuple[ast.AST, Function]], job: ScriptContext) -> bool:
    """Whether a call removes a file that is named with what the path is made of."""
    said = {dotted(part) for part, _ in parts if isinstance(part, (ast.Name, ast.Attribute))}
    said |= {str(part.value) for part, _ in parts if isinstance(part, ast.Constant)}
    for _, call in job.calls():
        if last(call.func) in _REMOVES:
            about = {dotted(node) for node in nodes(call)} | words(call)
            if about & (said - {"", "os", "self", "args", "os.path", _SCHEME}):
                return True
    return False


RULES = (ScriptRule(ids=(_STAYS,), check=stays),)
