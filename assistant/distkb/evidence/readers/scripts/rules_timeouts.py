"""Timeouts that are set where nothing reads them: in the environment, for another clock, in a handler nobody gets."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import keyword
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import constant, dotted, last, words
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.ranks import environment

_UNREAD, _MONITOR = "script.timeout-nobody-reads", "script.heartbeat-for-timeout"
_DROPPED = "script.timeout-handler-unused"
_MEANT = re.compile(
    r"(?:NCCL|RCCL|GLOO|TORCH|TORCH_NCCL|TORCH_GLOO|TORCH_DIST|TORCH_DISTRIBUTED|DIST|DISTRIBUTED|DDP|C10D|PG"
    r"|ACCELERATE)"
    r"_(?:(?:COMM|COLLECTIVE|PG|INIT|OP|WATCHDOG|SOCKET|ALLREDUCE|DDP|DIST|DEFAULT|PROCESS_GROUP|BARRIER)_){0,2}"
    r"TIMEOUT(?:_(?:MS|S|SEC|SECS|SECONDS|MIN|MINUTES|MILLISECONDS))?"
)
"""Variables that people set and that neither torch (2.13), NCCL, gloo nor Accelerate reads."""
_HEARTBEAT = "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC"
_USUAL = 600
"""Seconds that a group of NCCL waits by itself."""
_TELLS = frozenset({"timeout", "ddp_timeout", "pg_timeout"})
_BEGINS = ("init_process_group", "Accelerator", "PartialState", "TrainingArguments", "init_distributed")


def unread(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield variables of the environment that are meant as a timeout of the group and that nothing reads."""
    meant = {word for word in job.vocabulary if _MEANT.fullmatch(word)}
    if not job.is_parallel or not meant:
        return
    read = {
        environment(node)
        for script in job.project.scripts
        for node in script.nodes
        if isinstance(node, ast.Call) or (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load))
    }
    for top, node, name, _ in _settings(job):
        if name in meant - read:
            yield hit(_UNREAD, top, node, name=name)


def heartbeat(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield a long limit of the watchdog's monitor in a script that leaves the timeout of its groups as it is."""
    if not job.mentions(*_BEGINS) or not job.mentions(_HEARTBEAT) or job.mentions(*_TELLS, "DEEPSPEED_TIMEOUT"):
        return
    for top, node, name, value in _settings(job):
        text = str(constant(value))
        if name == _HEARTBEAT and text.isdecimal() and int(text) > _USUAL:
            yield hit(_MONITOR, top, node, value=text)


def _settings(job: ScriptContext) -> Iterator[tuple[Function, ast.expr, str, ast.expr]]:
    """Yield each place where a variable of the environment is set, with its name and its value."""
    for script in job.project.scripts:
        top = job.project.modules[id(script)]
        for node in script.nodes:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Subscript) and environment(target):
                        yield top, target, environment(target), node.value
            elif isinstance(node, ast.Call):
                yield from ((top, node, name, value) for name, value in _set_by(node))
            elif isinstance(node, ast.Dict) and _is_put(node, top):
                for key, value in zip(node.keys, node.values, strict=True):
                    if key is not None and isinstance(constant(key), str):
                        yield top, key, str(constant(key)), value


def _set_by(call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    name = dotted(call.func)
    if name.endswith(("environ.setdefault", "os.putenv", "environ.__setitem__")) and len(call.args) > 1:
        yield str(constant(call.args[0])), call.args[1]
    if name.endswith("environ.update"):
        yield from ((word.arg, word.value) for word in call.keywords if word.arg is not None)


def _is_put(node: ast.Dict, top: Function) -> bool:
    """Whether a dictionary that is written out goes into the environment: at once, by its name, or in a loop."""
    made = (part for part in top.script.nodes if isinstance(part, ast.Assign) and part.value is node)
    names = {dotted(target) for part in made for target in part.targets}
    for part in top.script.nodes:
        inside: list[ast.AST] = []
        if isinstance(part, ast.Call) and dotted(part.func).endswith("environ.update"):
            inside = [one for given in part.args for one in nodes(given)]
        elif isinstance(part, ast.AugAssign) and dotted(part.target).endswith("environ"):
            inside = nodes(part.value)
        elif isinstance(part, ast.For) and any("environ" in words(one) for one in part.body):
            inside = nodes(part.iter)
        if any(one is node or (dotted(one) and dotted(one) in names) for one in inside):
            return True
    return False


def dropped(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield handlers with a timeout that a function makes for Accelerate and gives to nobody."""
    for function, site in job.sites():
        call = site.node
        if last(call.func) != "InitProcessGroupKwargs" or keyword(call, "timeout") is None:
            continue
        statement = site.statement
        if isinstance(statement, ast.Expr) and statement.value is call:
            yield hit(_DROPPED, function, call, name=last(call.func))
        if not isinstance(statement, ast.Assign) or statement.value is not call or len(statement.targets) > 1:
            continue
        target = statement.targets[0]
        loads = (p for p in function.script.nodes if isinstance(p, ast.Name) and isinstance(p.ctx, ast.Load))
        used = {part.id for part in loads}
        if isinstance(target, ast.Name) and target.id not in used and not _is_taken(target.id, function, job):
            yield hit(_DROPPED, function, call, name=target.id)


def _is_taken(name: str, function: Function, job: ScriptContext) -> bool:
    """Whether another file may take a name of the top level."""
    return (
        function is job.project.modules[id(function.script)]
        and len(job.project.scripts) > 1
        and any(
            name in script.imports or script.stars or name in words(script.tree)
            for script in job.project.scripts
            if script is not function.script
        )
    )


RULES = (
    ScriptRule(ids=(_UNREAD,), check=unread),
    ScriptRule(ids=(_MONITOR,), check=heartbeat),
    ScriptRule(ids=(_DROPPED,), check=dropped),
)
