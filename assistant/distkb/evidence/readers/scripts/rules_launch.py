"""How the ranks come to be and go on: variables written by hand, what waits for a person, a group never ended."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last, shown, walk, words
from distkb.evidence.readers.scripts.ranks import environment

_FIXED, _PORT = "script.fixed-rank-variable", "script.fixed-master-port"
_SPAWN, _ENDED = "script.spawn-and-launcher", "script.group-not-destroyed"
_HELD, _ASKED = "script.breakpoint-left", "script.question-left"
_STOPS = frozenset({"breakpoint", "pdb.set_trace", "ipdb.set_trace", "pudb.set_trace", "code.interact"})
_ASKS = frozenset({"input", "getpass.getpass", "click.confirm", "click.prompt", "click.pause", "typer.confirm",
                   "typer.prompt", "sys.stdin.readline", "rich.prompt.Confirm.ask", "rich.prompt.Prompt.ask",
                   "questionary.confirm", "inquirer.prompt"})  # fmt: skip
_BEGINS = frozenset({"init_process_group", "init_distributed", "Accelerator", "DistributedDataParallel", "fully_shard",
                     "FullyShardedDataParallel", "barrier", "broadcast_object_list", "fit"})  # fmt: skip
"""Calls that a rank makes."""
_TRAINS = ("backward", "manual_backward", "training_step", "Trainer", "fit")
_ON_WISH = re.compile(r"(?i)isatty|interactive")
_CALLED_BACK = ("Callback", "Module", "Trainer", "DataModule")
"""Ends of the names of classes whose methods a trainer calls."""
_OWNED = frozenset({"RANK", "WORLD_SIZE"})
"""Without LOCAL_RANK: 0 is right for a process that sees one GPU only."""


def _always(function: Function) -> Iterator[ast.stmt]:
    """Yield the statements of a function that no test, loop or handler stands before."""
    blocks = [function.node.body]
    while blocks:
        for statement in blocks.pop():
            if isinstance(statement, ast.If):
                test = statement.test
                if isinstance(test, ast.Compare) and dotted(test.left) == "__name__":
                    blocks.append(statement.body)
            elif isinstance(statement, (ast.With, ast.AsyncWith)):
                blocks.append(statement.body)
            elif not isinstance(statement, (ast.For, ast.AsyncFor, ast.While, ast.Try, ast.Match)):
                yield statement


def _written(job: ScriptContext) -> Iterator[tuple[Function, ast.Assign, str, object]]:
    """Yield every unconditional `os.environ[NAME] = literal`."""
    for function in job.project.functions:
        for statement in _always(function):
            if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                name = environment(statement.targets[0])
                if name:
                    yield function, statement, name, constant(statement.value)


def fixed(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield RANK and the like set to a constant, which hides what a launcher gives; and a port that all jobs share."""
    if not _uses_groups(job):
        return
    written = list(_written(job))
    managed = {id(function.script) for function, _, name, value in written if name in _OWNED and not _is_literal(value)}
    for function, statement, name, value in written:
        if not _is_literal(value):
            continue
        if name in _OWNED and id(function.script) not in managed and not _is_spawned(function, job):
            yield hit(_FIXED, function, statement, name=name, value=str(value))
        elif name == "MASTER_PORT":
            yield hit(_PORT, function, statement, value=str(value))


def _is_literal(value: object) -> bool:
    return isinstance(value, (str, int))


def _uses_groups(job: ScriptContext) -> bool:
    return job.mentions("init_process_group", "init_distributed", "Accelerator", "deepspeed")


def _is_spawned(function: Function, job: ScriptContext) -> bool:
    """Whether the file starts its ranks itself, which then set their own variables."""
    return any(
        canonical(site.node.func, other.script).endswith((".spawn", ".Process", "start_processes", "notebook_launcher"))
        for other in job.project.functions
        if other.script is function.script
        for site in job.project.walk(other).sites
    )


def spawned_twice(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield mp.spawn in a script that also takes its rank from a launcher: every launched process starts more."""
    for function in job.project.functions:
        for statement in _always(function):
            call = statement.value if isinstance(statement, ast.Expr) else None
            if not isinstance(call, ast.Call):
                continue
            if canonical(call.func, function.script) != "torch.multiprocessing.spawn":
                continue
            name = _launched(function, job)
            if name:
                yield hit(_SPAWN, function, call, name=name)


def _launched(function: Function, job: ScriptContext) -> str:
    """Return the launcher's variable that the file reads without a default and never sets itself."""
    nodes = [node for node in function.script.nodes if isinstance(node, ast.Subscript)]
    own = {environment(node) for node in nodes if isinstance(node.ctx, ast.Store)}
    for other in job.project.functions:
        if other.script is not function.script:
            continue
        for statement in _always(other):
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                continue
            for node in walk(statement):
                name = environment(node) if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) else ""
                if name in {"RANK", "LOCAL_RANK"} - own:
                    return name
    return ""


def never_destroyed(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield the call that makes the process group where no script ends it."""
    if job.mentions("destroy_process_group", "end_training", "destroy_pg", "atexit"):
        return
    if "__main__" not in job.vocabulary:
        return  # parts of a library: who ends the group is not to be seen here
    for function, call in job.calls_of("torch.distributed.init_process_group"):
        yield hit(_ENDED, function, call)
        return


def breakpoints(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield breakpoints at which a rank would wait for someone to type."""
    if not job.is_parallel:
        return
    for function, call in job.calls_of(*_STOPS):
        yield hit(_HELD, function, call, call=shown(call))


def asked(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield questions that a rank of a training asks on the terminal, unless it looks whether there is one."""
    if not job.is_parallel or not job.mentions(*_TRAINS):
        return
    ranks = _run_by_ranks(job)
    for function in job.project.functions:
        for site in job.project.walk(function).sites if id(function) in ranks else ():
            call = site.node
            if canonical(call.func, function.script) not in _ASKS or _is_own_name(call.func, function, job):
                continue
            if not any(_ON_WISH.search(word) for word in words(function.node) | _tested(function, job)):
                yield hit(_ASKED, function, call, call=shown(call))


def _is_own_name(node: ast.expr, function: Function, job: ScriptContext) -> bool:
    """Whether a name such as `input` is the function's own and not Python's."""
    name = dotted(node)
    given = name in function.parameters or bool(job.project.walk(function).assigned(name))
    return given or job.project.referred(node, function) is not None


def _tested(function: Function, job: ScriptContext) -> set[str]:
    """Return what is named in the tests around the calls of a function."""
    callers = job.project.callers(function)
    return {word for _, site in callers for test in site.where.tests for word in words(test)}


def _run_by_ranks(job: ScriptContext) -> set[int]:
    """Return the functions that ranks run, by identity: those that lead to a call of theirs, and what these call."""
    walk_of = job.project.walk
    begins = [f for f in job.project.functions if walk_of(f).calls(*_BEGINS)]
    begins += [f for f in job.project.functions if f.owner is not None and _is_called_back(f)]
    above: dict[int, Function] = {}
    while begins:
        function = begins.pop()
        if id(function) not in above:
            above[id(function)] = function
            begins += [caller for caller, _ in job.project.callers(function)]
    found: set[int] = set()
    left = list(above.values())
    while left:
        function = left.pop()
        if id(function) not in found:
            found.add(id(function))
            targets = (job.project.target(site.node, function) for site in walk_of(function).sites)
            left += [target for target in targets if target is not None]
    return found


def _is_called_back(function: Function) -> bool:
    return any(last(base).endswith(_CALLED_BACK) for base in function.bases)


RULES = (
    ScriptRule(ids=(_FIXED, _PORT), check=fixed),
    ScriptRule(ids=(_SPAWN,), check=spawned_twice),
    ScriptRule(ids=(_ENDED,), check=never_destroyed),
    ScriptRule(ids=(_HELD,), check=breakpoints),
    ScriptRule(ids=(_ASKED,), check=asked),
)
