"""What every process orders or salts in its own way: collectives over a set or in a thread, and hashes of strings."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import argument, arguments, keyword
from distkb.evidence.readers.scripts.collectives import TOGETHER, is_operation
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import made_by
from distkb.evidence.readers.scripts.names import canonical, last, names_in, shown, walk
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.parts import SHARDS, is_unit, picked_parts

_SET, _THREAD = "script.collective-over-set", "script.collective-in-thread"
_NUMBERED, _PARTS = "script.numbered-by-set", "script.parts-over-set"
_LISTED = "script.numbered-by-listing"
_TURNED = "script.order-by-rank"
_TURNS = frozenset({"reverse", "sort", "rotate"})
_TO_PEERS = frozenset({"send", "recv", "isend", "irecv", "batch_isend_irecv", "P2POp"})
_HASH, _BRANCH = "script.salted-hash", "script.order-by-branch"
_NUMBERS = frozenset({"range", "tolist", "int", "float", "len", "arange", "randint", "sample"})
_DEPTH = 3
"""Functions in one another in which a collective is looked for."""
_WRITES = frozenset({"str", "hex", "format"})


def over_set(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield collectives that are called once for each element of a set, which each process orders in its own way."""
    told: set[int] = set()
    for event in job.events("loop"):
        source = event.source
        if source is None or id(event.node) in told or of_numbers(source):
            continue
        told.add(id(event.node))
        for call in (node for part in body_of(event.node) for node in nodes(part) if isinstance(node, ast.Call)):
            need = next((n for n in job.effects.of_call(call, event.function) if n.category in TOGETHER), None)
            if need is not None and need.name != "dist.barrier":
                yield hit(_SET, event.function, call, call=shown(call.func), over=shown(source), needs=need.name)
                break


def parts_over_set(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield units of a sharded model that run once for each name in a set, which each process orders in its own way."""
    if job.mentions("PYTHONHASHSEED") or not job.mentions(*SHARDS):
        return
    told: set[int] = set()
    for event in job.events("loop"):
        source, node = event.source, event.node
        if source is None or id(node) in told or of_numbers(source):
            continue
        told.add(id(node))
        for part in picked_parts(body_of(node), _targets(node), event.function, job.project):
            if is_unit(part, job.project):
                yield hit(_PARTS, event.function, node, call=shown(part.call.func), over=shown(source))
                break


def _targets(node: ast.AST) -> set[str]:
    """Return the names that a loop or a comprehension gives its elements."""
    loops = getattr(node, "generators", None) or [node]
    return {part.id for loop in loops for part in nodes(loop.target) if isinstance(part, ast.Name)}


def numbered(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield tables that number the elements of a set in its order, which each process has of its own."""
    if job.mentions("PYTHONHASHSEED") or not job.is_parallel:
        return
    told: set[int] = set()
    for event in job.events("loop"):
        source, node = event.source, event.node
        if source is None or event.somewhere or id(node) in told or of_numbers(source):
            continue
        told.add(id(node))
        if _numbers(node):
            yield hit(_NUMBERED, event.function, node, over=shown(source))


def listed(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield tables that number the entries of a directory in the order in which the file system lists them."""
    if not job.is_parallel:
        return
    for function in job.project.functions:
        for node in walk(function.node):
            if not isinstance(node, ast.DictComp):
                continue
            over = node.generators[0].iter
            if not isinstance(over, ast.Call) or last(over.func) != "enumerate" or not over.args:
                continue
            source = _listing(over.args[0], function, job, 0)
            if source is not None:
                yield hit(_LISTED, function, node, over=shown(source))


def _listing(node: ast.expr, function: Function, job: ScriptContext, depth: int) -> ast.Call | None:
    """Return the listing of a directory that an expression goes through as it comes."""
    if isinstance(node, ast.Call):
        if canonical(node.func, function.script) in _LISTS or (
            isinstance(node.func, ast.Attribute) and node.func.attr in {"iterdir", "glob", "rglob"}
        ):
            return node
        return _listing(node.args[0], function, job, depth) if last(node.func) == "list" and node.args else None
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        return _listing(node.generators[0].iter, function, job, depth + 1)
    if isinstance(node, (ast.Name, ast.Attribute)) and depth < _DEPTH:
        if job.project.walk(function).calls("sort"):
            return None
        value = job.project.single(node, function)
        return None if value is None else _listing(value, function, job, depth + 1)
    return None


_LISTS = frozenset({"os.listdir", "os.scandir", "glob.glob", "glob.iglob"})


def _numbers(node: ast.AST) -> bool:
    """Whether a loop or a comprehension gives its elements numbers: by `enumerate`, or by how many there are yet."""
    generators = getattr(node, "generators", None)
    over = generators[0].iter if generators else getattr(node, "iter", None)
    counted = isinstance(over, ast.Call) and last(over.func) == "enumerate"
    if isinstance(node, ast.DictComp):
        return counted
    if not isinstance(node, ast.For):
        return False
    stored = [
        p
        for part in node.body
        for p in nodes(part)
        if isinstance(p, ast.Assign) and isinstance(p.targets[0], ast.Subscript)
    ]
    named = names_in(node.target)
    if counted:
        return any(isinstance(one.value, ast.Name) and one.value.id in named for one in stored)
    return any(isinstance(one.value, ast.Call) and last(one.value.func) == "len" for one in stored)


def by_branch(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield tests both branches of which make the same collectives, in another order."""
    for function in job.project.functions:
        for node in walk(function.node):
            if not isinstance(node, ast.If) or not node.orelse:
                continue
            one, other = _sequence(node.body, function, job), _sequence(node.orelse, function, job)
            if len(set(one)) > 1 and one != other and sorted(one) == sorted(other):
                values = {"test": shown(node.test), "first": one[0], "other": other[0]}
                yield hit(_BRANCH, function, node, **values)


def turned(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield collectives for each element of a list that the ranks go through in another order, by their number."""
    for function in job.project.functions if job.is_parallel else ():
        for loop in (node for node in walk(function.node) if isinstance(node, ast.For)):
            calls = [node for part in loop.body for node in nodes(part) if isinstance(node, ast.Call)]
            call = next((one for one in calls if _together(one, _targets(loop), function, job)), None)
            by = None if call is None else _turned_by(loop, function, job)
            if call is not None and by is not None:
                yield hit(_TURNED, function, call, call=shown(call.func), over=shown(loop.iter), by=shown(by))


def _together(call: ast.Call, targets: set[str], function: Function, job: ScriptContext) -> bool:
    """Whether a call gives an element to a collective of several ranks, not to one of its peers."""
    given = arguments(call)
    used = any(isinstance(part, ast.Name) and part.id in targets for one in given for part in nodes(one))
    return used and last(call.func) not in _TO_PEERS and _communicates(call, function, job, _DEPTH)


def _turned_by(loop: ast.For, function: Function, job: ScriptContext) -> ast.expr | None:
    """Return what makes the order of a loop another one on some ranks."""
    for site in job.project.walk(function).sites:
        named = site.node.func
        turned_here = named.value if isinstance(named, ast.Attribute) and named.attr in _TURNS else None
        if turned_here is not None and shown(turned_here) == shown(loop.iter) and site.node.lineno < loop.lineno:
            tests = (*site.where.tests, *site.node.args, *(word.value for word in site.node.keywords))
            by = next((one for one in tests if _of_rank(one, function, job)), None)
            if by is not None:
                return by
    made = job.project.single(loop.iter, function) if isinstance(loop.iter, (ast.Name, ast.Attribute)) else loop.iter
    by = _choice(made)
    return by if by is not None and _of_rank(by, function, job) else None


def _of_rank(node: ast.expr, function: Function, job: ScriptContext) -> bool:
    """Whether a value depends on the rank, or asks an object for a place that its class makes of the rank."""
    if job.origins.depends([node], function, "rank"):
        return True
    asked = {f"self.{part.attr}" for part in nodes(node) if isinstance(part, ast.Attribute)}
    methods = [one for one in job.project.functions if one.owner is not None]
    made = ((one, put) for one in methods for name in asked for put in job.project.walk(one).assigned(name))
    return any(job.origins.depends([put.value], one, "rank") for one, put in made)


def _choice(made: ast.expr | None) -> ast.expr | None:
    """Return what decides on the order of elements: of two ways round, of a sort, of where a list begins."""
    match made:
        case ast.IfExp(test=test, body=body, orelse=other) if sorted(map(shown, _parts_of(body))) == sorted(
            map(shown, _parts_of(other))
        ):
            return test
        case ast.Call() if last(made.func) == "sorted":
            return keyword(made, "reverse")
        case ast.BinOp(
            left=ast.Subscript(slice=ast.Slice(lower=ast.expr() as start)), op=ast.Add(), right=ast.Subscript()
        ):
            return start
        case ast.Subscript(slice=ast.Slice(step=ast.expr() as step)):
            return step
    return None


def _parts_of(node: ast.expr) -> list[ast.AST]:
    """Return the elements of a list, or the list itself where it is only turned round."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return list(node.elts)
    if isinstance(node, ast.Call) and last(node.func) in {"list", "reversed", "tuple"} and node.args:
        return _parts_of(node.args[0])
    return [node.value] if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice) else [node]


def _sequence(body: list[ast.stmt], function: Function, job: ScriptContext) -> list[str]:
    """Return the calls of a branch that other ranks take part in, in order."""
    calls = [n for part in body for n in walk(part) if isinstance(n, ast.Call) and _communicates(n, function, job)]
    return [shown(call) for call in sorted(calls, key=lambda call: (call.lineno, call.col_offset))]


def _communicates(call: ast.Call, function: Function, job: ScriptContext, depth: int = 0) -> bool:
    """Whether a call is a collective or runs one, of whichever group."""
    if is_operation(call, function):
        return True
    below = job.project.below(call, function) if depth < _DEPTH else ()
    return any(_communicates(site.node, target, job, depth + 1) for target, site in below)


def salted_hash(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield `hash()` where it divides something or names a file: of a string it differs from process to process."""
    for function in job.project.functions:
        if not isinstance(function.node, ast.Module) and function.name.endswith("__hash__"):
            continue
        looked: set[int] = set()
        salted: list[ast.Call] = []
        for node in walk(function.node):
            inside = _divided_or_written(node)
            if inside is not None and id(node) not in looked:
                parts = nodes(inside)
                looked.update(map(id, parts))
                salted += [p for p in parts if isinstance(p, ast.Call) and _is_salted(p, function, job)]
        if salted:
            call = min(salted, key=lambda one: (one.lineno, one.col_offset))
            yield hit(_HASH, function, call, call=shown(call))


def _divided_or_written(node: ast.AST) -> ast.AST | None:
    """Return the part of a remainder, or of a text that is put together, from which its value comes."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return node.left
    writes = isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Call) and last(node.func) in _WRITES)
    return node if writes else None


def _is_salted(call: ast.Call, function: Function, job: ScriptContext) -> bool:
    if not isinstance(call.func, ast.Name) or call.func.id != "hash" or len(call.args) != 1:
        return False
    given = call.args[0]
    number = isinstance(given, ast.Constant) and isinstance(given.value, (int, float))
    return (
        not number
        and last(getattr(given, "func", given)) not in _NUMBERS
        and job.project.target(call, function) is None
    )


def body_of(node: ast.AST) -> list[ast.AST]:
    """Return what a loop or a comprehension repeats."""
    if isinstance(node, (ast.For, ast.AsyncFor)):
        return list(node.body)
    return [node.key, node.value] if isinstance(node, ast.DictComp) else [getattr(node, "elt", node)]


def of_numbers(node: ast.AST) -> bool:
    """Whether a set plainly holds numbers, whose order is the same in every process.

    What a comprehension only tests its elements with says nothing of them.
    """
    if isinstance(node, ast.SetComp):
        return any(of_numbers(part) for part in (node.elt, *(generator.iter for generator in node.generators)))
    return any(
        (isinstance(part, ast.Call) and last(part.func) in _NUMBERS)
        or (isinstance(part, ast.Constant) and isinstance(part.value, (int, float)) and not isinstance(node, ast.Call))
        for part in nodes(node)
    )


def in_thread(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield collectives on the default group in a function that a thread beside the training runs."""
    for target, thread in _beside(job) if job.mentions("threading", "ThreadPoolExecutor") else ():
        found = _collective_in(target, job)
        if found is not None:
            call, needs = found
            yield hit(_THREAD, target, call, call=shown(call.func), needs=needs, thread=thread)


def _beside(job: ScriptContext) -> Iterator[tuple[Function, str]]:
    """Yield what threads run, and its name: targets, what a pool is given, the `run` of a class of threads."""
    for function, site in job.sites():
        call, named = site.node, None
        if canonical(call.func, function.script) in {"threading.Thread", "threading.Timer"}:
            named = argument(call, "target", 1)
        elif last(call.func) == "submit" and isinstance(call.func, ast.Attribute) and call.args:
            pools = made_by(call.func.value, function, job.project)
            named = call.args[0] if any(name.endswith("ThreadPoolExecutor") for name, _, _ in pools) else None
        target = None if named is None else job.project.referred(named, function)
        if target is not None and named is not None:
            yield target, shown(named)
    for one in job.project.functions:
        is_thread = any(canonical(base, one.script) in {"threading.Thread", "threading.Timer"} for base in one.bases)
        if is_thread and one.name.endswith(".run"):
            yield one, one.name


def _collective_in(target: Function, job: ScriptContext) -> tuple[ast.Call, str] | None:
    for site in job.project.walk(target).sites:
        for need in job.effects.of_call(site.node, target):
            if need.category in {*TOGETHER, "ddp-forward", "state-dict"}:
                return site.node, need.name
    return None


RULES = (
    ScriptRule(ids=(_LISTED,), check=listed),
    ScriptRule(ids=(_NUMBERED,), check=numbered, follows=True),
    ScriptRule(ids=(_BRANCH,), check=by_branch),
    ScriptRule(ids=(_TURNED,), check=turned),
    ScriptRule(ids=(_SET,), check=over_set, follows=True),
    ScriptRule(ids=(_PARTS,), check=parts_over_set, follows=True),
    ScriptRule(ids=(_THREAD,), check=in_thread),
    ScriptRule(ids=(_HASH,), check=salted_hash),
)
