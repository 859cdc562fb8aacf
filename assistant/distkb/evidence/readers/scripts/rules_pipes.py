"""Processes that write into pipes which nobody empties while they run."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import msgspec

from distkb.evidence.readers.scripts.arguments import arguments, keyword
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, dotted, last, shown, words, words_of
from distkb.evidence.readers.scripts.nodes import nodes

_FULL = "script.pipe-not-emptied"
_WAITS_AT_ONCE = frozenset({"subprocess.call", "subprocess.check_call"})
_OF_RANKS = frozenset({"RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})
"""Variables by which a launcher tells each process its place."""
_LAUNCHERS = frozenset({"torchrun", "torch.distributed.run", "torch.distributed.launch", "accelerate", "deepspeed"})
_AT_ONCE = frozenset({"Thread", "ThreadPoolExecutor", "ThreadPool", "selectors", "select", "asyncio", "set_blocking",
                      "O_NONBLOCK", "Process", "threading", "pexpect", "tee"})  # fmt: skip
"""Names that show that pipes are read beside one another."""
_READS, _AWAITS = frozenset({"stdout", "stderr", "communicate"}), frozenset({"wait", "poll"})
_KEEPS = frozenset({"append", "add", "put", "setdefault"})
_LISTED = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_DEPTH = 2


class _Use(msgspec.Struct, frozen=True, eq=False):
    """Where a process is first read from or waited for."""

    function: Function
    node: ast.expr


def not_emptied(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield ranks that are started with pipes of which some are not read until another process has ended."""
    for function, site in job.sites() if job.mentions("PIPE") else ():
        call, full = site.node, canonical(site.node.func, function.script)
        pipes = [name for name in ("stdout", "stderr") if _is_pipe(keyword(call, name), function, job)]
        if not pipes or full not in _WAITS_AT_ONCE | {"subprocess.Popen"}:
            continue
        launches = bool(_said(call, function, job) & _LAUNCHERS)
        if full in _WAITS_AT_ONCE:
            use: _Use | None = _Use(function, call) if launches else None
        else:
            use = _one_by_one(call, function, job) or (_late(call, pipes, function) if launches else None)
        if use is not None:
            values = {"call": shown(call.func), "pipe": pipes[-1], "read": shown(use.node)}
            found = hit(_FULL, function, call, **values, read_line=str(use.node.lineno))
            yield msgspec.structs.replace(found, more=((use.function.script, use.node.lineno),))


def _is_pipe(node: ast.expr | None, function: Function, job: ScriptContext) -> bool:
    if node is None:
        return False
    value = job.project.single(node, function) if isinstance(node, ast.Name) and last(node) != "PIPE" else node
    return value is not None and canonical(value, function.script) == "subprocess.PIPE"


def _said(call: ast.Call, function: Function, job: ScriptContext) -> set[str]:
    """Return the words of a call, and of what its arguments' names stand for."""
    found = words(call)
    for given in arguments(call):
        for node in (node for node in nodes(given) if isinstance(node, ast.Name)):
            value = job.project.single(node, function)
            found |= words(value) if value is not None else set()
    return {part for word in found for part in (word, *word.split())}


def _one_by_one(call: ast.Call, function: Function, job: ScriptContext) -> _Use | None:
    """Return the first use of ranks that run beside one another, where they are read one after the other."""
    holder = _collected(call, function, job)
    if holder is None:
        return None
    scripts = {id(one.script): one.script for one in (function, holder)}.values()
    said = {name for script in scripts for name in (*words_of(script.nodes), *script.imports)}
    said |= {node.arg or "" for script in scripts for node in script.nodes if isinstance(node, ast.keyword)}
    if not said & (_OF_RANKS | _LAUNCHERS) or said & _AT_ONCE:
        return None
    inside = [one for one in job.project.functions if one.script is holder.script]
    if any(_goes_round(one) for one in inside):
        return None
    uses = [use for one in (holder, *inside) for use in _uses(one)]
    return uses[0] if uses else None


def _collected(call: ast.expr, function: Function, job: ScriptContext, depth: int = 0) -> Function | None:
    """Return the function that keeps the processes that a call starts, several beside one another."""
    names = {"", *(dotted(t) for node in nodes(function.node) for t in _targets(node, call))} - {""}
    for node in nodes(function.node):
        if isinstance(node, _LISTED) and _holds(node, call, set()):
            return function
        kept = isinstance(node, ast.Call) and last(node.func) in _KEEPS and _looped(node, function, job)
        if kept and isinstance(node, ast.Call) and any(_holds(given, call, names) for given in node.args):
            return function
        put = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript)
        if put and isinstance(node, ast.Assign) and _holds(node.value, call, names) and _looped(call, function, job):
            return function
    returned = [value for value, _ in job.project.walk(function).returns]
    if depth < _DEPTH and any(value is call or dotted(value) in names for value in returned):
        for caller, site in job.project.callers(function):
            found = _collected(site.node, caller, job, depth + 1)
            if found is not None:
                return found
    return None


def _targets(node: ast.AST, call: ast.expr) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) and node.value is call else []


def _holds(node: ast.AST, call: ast.expr, names: set[str]) -> bool:
    return any(part is call or (isinstance(part, ast.Name) and part.id in names) for part in nodes(node))


def _looped(node: ast.expr, function: Function, job: ScriptContext) -> bool:
    return any(site.node is node and site.where.loops for site in job.project.walk(function).sites)


def _goes_round(function: Function) -> bool:
    """Whether lines of all processes are read in turns: `while …: for process in …: process.stdout.readline()`."""
    outer = [node for node in nodes(function.node) if isinstance(node, ast.While)]
    inner = [part for loop in outer for part in nodes(loop) if isinstance(part, ast.For)]
    return any(isinstance(n, ast.Call) and last(n.func) in {"readline", "read1"} for part in inner for n in nodes(part))


def _uses(function: Function) -> list[_Use]:
    """Return where a function reads from processes or waits for them, in the order of its lines."""
    found = [
        node
        for node in nodes(function.node)
        if isinstance(node, ast.Attribute)
        and node.attr in _READS | _AWAITS
        and dotted(node) not in {"sys.stdout", "sys.stderr"}
    ]
    return [_Use(function, node) for node in sorted(found, key=lambda node: node.lineno)]


def _late(call: ast.Call, pipes: list[str], function: Function) -> _Use | None:
    """Return the use of a single launcher that waits for it before its pipes are read, or reads them one by one."""
    name = next((dotted(t) for node in nodes(function.node) for t in _targets(node, call)), "")
    own = [use for use in _uses(function) if name and dotted(use.node).startswith(f"{name}.")]
    used = [last(use.node) for use in own]
    said = {*words(function.node), *function.script.imports}
    if not own or said & _AT_ONCE or "communicate" in used or _polls_with_timeout(function, name):
        return None
    if used[0] == "wait" or (used[0] == "poll" and not set(used) & _READS):
        return own[0]
    return own[0] if len(pipes) > 1 and used[0] in {"stdout", "stderr"} else None


def _polls_with_timeout(function: Function, name: str) -> bool:
    """Whether the launcher is waited for for a while only."""
    return any(
        isinstance(node, ast.Call) and dotted(node.func) == f"{name}.wait" and bool(node.args or node.keywords)
        for node in nodes(function.node)
    )


RULES = (ScriptRule(ids=(_FULL,), check=not_emptied),)
