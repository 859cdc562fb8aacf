"""Files and directories that every rank writes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import receiver
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, dotted, last, shown, walk, words
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.rules_trainers import starts_again

_SAVE, _DIRECTORY = "script.save-on-every-rank", "script.own-directory-per-rank"
_DRAWN, _STARTED = "script.random-directory-per-rank", "script.directory-by-each-start"
_POLLED = "script.polled-while-written"
_RENAMES = ("replace", "rename", "renames", "move", "link", "symlink", "flock", "FileLock", "SoftFileLock")
WRITERS = {"torch.save": 1, "open": 0, "numpy.save": 0, "numpy.savez": 0, "pickle.dump": 1, "json.dump": 1}
"""Calls that write a file in place, with the position of its path."""
_OWN = re.compile(
    r"(?i)rank|main|master|primary|chief|\bgpu\b|gpu_id|process|shard|should_save|is_save|\bmp_|\bwriter|device"
)


def saved_everywhere(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield `torch.save` of a DDP model's state on every rank to one path, where its function sets up the ranks."""
    for function in job.project.functions:
        if not _sets_up(function, job):
            continue
        for site in job.project.walk(function).sites:
            if canonical(site.node.func, function.script) != "torch.save" or len(site.node.args) < 2:
                continue
            if site.where.side != "both" or not _is_everywhere(site, function, job) or _by_rank(site, function, job):
                continue
            if not _is_state(site.node.args[0], function, job):
                continue
            yield hit(_SAVE, function, site.node, call=shown(site.node), path=shown(site.node.args[1]))
            break


def _sets_up(function: Function, job: ScriptContext) -> bool:
    """Whether the function surely runs on every rank: it wraps a model with DDP without a test."""
    return any(
        site.where.certain
        and site.where.side == "both"
        and canonical(site.node.func, function.script).endswith(".DistributedDataParallel")
        for site in job.project.walk(function).sites
    )


def _is_state(saved: ast.expr, function: Function, job: ScriptContext) -> bool:
    """Whether the state of a model is saved: other results may well be the rank's own."""
    value = job.project.single(saved, function) if dotted(saved) else saved
    return "state_dict" in words(saved if value is None else value)


def _is_everywhere(site: Site, function: Function, job: ScriptContext) -> bool:
    """Whether nothing around the call or in its path speaks of ranks."""
    mentioned = words(site.node.args[1])
    for node in site.node.args[1:2]:
        value = job.project.single(node, function)
        mentioned |= set() if value is None else words(value)
    for test in site.where.tests:
        mentioned |= words(test)
    return not any(_OWN.search(word) for word in mentioned | _sources(mentioned, function))


def _by_rank(site: Site, function: Function, job: ScriptContext) -> bool:
    """Whether a test around the call, or its path, is made of the rank's number."""
    decides = (*site.where.tests, *site.node.args[1:2])
    return job.origins.depends(decides, function, "rank")


def _sources(names: set[str], function: Function) -> set[str]:
    """Return what the file assigns to variables and attributes of these names (`args.save = is_master(args)`)."""
    found: set[str] = set()
    for node in function.script.nodes:
        if isinstance(node, ast.Assign) and any(last(target) in names for target in node.targets):
            found |= words(node.value)
    return found


def own_directory(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield directories that all ranks make or use, and whose names each takes from its own clock or random numbers."""
    starter = starts_again(job)
    if not job.is_parallel and not starter:
        return
    told: set[str] = set()
    for events in job.episodes:
        for event in events:
            source = shown(event.source) if event.source is not None else ""
            if event.kind == "path" and not event.somewhere and source not in told:
                told.add(source)
                identity = _DRAWN if "own" in event.things[0].marks else _DIRECTORY
                identity = _STARTED if starter else identity
                yield hit(identity, event.function, event.node, call=shown(event.node), source=source, trainer=starter)


def polled(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield loops that wait until a file is there which the project writes in place: it is there when it is begun."""
    if job.mentions(*_RENAMES):
        return
    written = {text for function in job.project.functions for text in _written(function, job)}
    for function in job.project.functions if written else ():
        for node in walk(function.node):
            asked = _awaited(node)
            if asked is not None and as_text(asked, function, job) in written:
                yield hit(_POLLED, function, asked, path=shown(asked))
                break


def _written(function: Function, job: ScriptContext) -> Iterator[str]:
    filled = _filled(function)
    for site in job.project.walk(function).sites:
        place = WRITERS.get(canonical(site.node.func, function.script))
        if place is None or len(site.node.args) <= place:
            continue
        if last(site.node.func) != "open" or id(site.node) in filled:
            yield as_text(site.node.args[place], function, job)


def _filled(function: Function) -> set[int]:
    """Return the `open` calls whose file gets content that is made meanwhile, and not a mark, by identity."""
    return {
        id(item.context_expr)
        for block in walk(function.node)
        if isinstance(block, ast.With)
        for item in block.items
        if isinstance(item.context_expr, ast.Call) and item.optional_vars is not None
        if any(_fills(node, dotted(item.optional_vars)) for statement in block.body for node in nodes(statement))
    }


def _fills(node: ast.AST, handle: str) -> bool:
    """Whether a call writes what it computes: `json.dump(table, handle)`, `handle.write(line)` in a loop."""
    if isinstance(node, (ast.For, ast.While)):
        inside = (part for part in nodes(node) if isinstance(part, ast.Call))
        return any(dotted(call.func) == f"{handle}.write" for call in inside)
    return isinstance(node, ast.Call) and last(node.func) == "dump" and handle in {dotted(a) for a in node.args}


def _awaited(node: ast.AST) -> ast.expr | None:
    """Return the path of `while not os.path.exists(path)`."""
    test = node.test if isinstance(node, ast.While) else None
    asked = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else None
    if not isinstance(asked, ast.Call) or last(asked.func) not in {"exists", "isfile", "is_file"}:
        return None
    if asked.args:
        return asked.args[0]
    return receiver(asked)


def as_text(path: ast.expr, function: Function, job: ScriptContext) -> str:
    """Return what a path is written as, behind a name that is given once."""
    return shown(job.project.single(path, function) or path)


RULES = (
    ScriptRule(ids=(_POLLED,), check=polled),
    ScriptRule(ids=(_SAVE,), check=saved_everywhere),
    ScriptRule(ids=(_DIRECTORY, _DRAWN, _STARTED), check=own_directory, follows=True),
)
