"""Messages between two ranks, and gradients and losses that the code itself adds up or divides over the ranks."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import argument, keyword
from distkb.evidence.readers.scripts.collectives import agrees
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last, shown, walk, words
from distkb.evidence.readers.scripts.nodes import nodes

_SENT, _SUMMED, _HOOK = "script.all-send-first", "script.gradients-summed", "script.hook-sums-gradients"
_TWICE, _RECEIVED = "script.loss-averaged-twice", "script.both-receive-first"
_BLOCKING = frozenset({"torch.distributed.send", "torch.distributed.recv"})
_DIVIDES = frozenset({"div", "div_", "true_divide", "divide_", "mul", "mul_", "mean", "_foreach_div_", "_foreach_mul_"})
_FLATTENS = frozenset({"_flatten_dense_tensors", "cat", "stack", "parameters_to_vector"})
_SIZES = ("world", "size", "nproc", "num_processes", "replicas", "ranks", "degree")


def all_send(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield blocking sends to a neighbour that every rank makes before it receives."""
    if not job.mentions("send") or not job.mentions("recv"):
        return
    for function in job.project.functions:
        first: Site | None = None
        for site in job.project.walk(function).sites:
            name = _message(site, function)
            if name == "recv" and first is not None and _together(first, site):
                yield hit(_SENT, function, first.node, send=shown(first.node), recv_line=str(site.node.lineno))
                break
            if name == "send" and _depends_on_rank(argument(site.node, "dst", 1), function, job):
                first = site if site.where.side == "both" and not _by_rank(site, function, job) else None


def both_send(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield the blocking call that both branches of a test of the rank make first, before the one it needs."""
    for function in job.project.functions if job.mentions("send") and job.mentions("recv") else ():
        for node in walk(function.node):
            if not isinstance(node, ast.If) or not node.orelse or not _depends_on_rank(node.test, function, job):
                continue
            arms = [[call for part in arm for call in _messages(part, function)] for arm in (node.body, node.orelse)]
            kinds_of = [[last(call.func) for call in arm] for arm in arms]
            apart = isinstance(node.orelse[0], ast.If) or any(set(names) != {"send", "recv"} for names in kinds_of)
            if apart or kinds_of[0][0] != kinds_of[1][0]:
                continue
            first, other = arms[0][0], arms[1][0]
            if kinds_of[0][0] == "send":
                received = next(call for call in arms[1] if last(call.func) == "recv")
                yield hit(_SENT, function, first, send=shown(first), recv_line=str(received.lineno))
            else:
                yield hit(_RECEIVED, function, first, recv=shown(first), other=shown(other),
                          other_line=str(other.lineno))  # fmt: skip


def _messages(node: ast.AST, function: Function) -> list[ast.Call]:
    """Return the blocking messages of a statement in their order, where no test is around them."""
    if any(isinstance(part, (ast.If, ast.Try, ast.While)) for part in nodes(node)):
        return []
    full = {"torch.distributed.send", "torch.distributed.recv"}
    calls = [
        part for part in nodes(node) if isinstance(part, ast.Call) and canonical(part.func, function.script) in full
    ]
    return sorted(calls, key=lambda call: (call.lineno, call.col_offset))


def _message(site: Site, function: Function) -> str:
    return last(site.node.func) if canonical(site.node.func, function.script) in _BLOCKING else ""


def _together(first: Site, second: Site) -> bool:
    """Whether a rank that makes one call makes the other as well."""
    return first.where.tests == second.where.tests and first.where.loops == second.where.loops


def _by_rank(site: Site, function: Function, job: ScriptContext) -> bool:
    return any(_depends_on_rank(test, function, job) for test in site.where.tests)


def _depends_on_rank(node: ast.expr | None, function: Function, job: ScriptContext) -> bool:
    return node is not None and job.origins.depends([node], function, "rank")


def summed(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield gradients that are added up over the ranks by hand and that nothing divides by their number."""
    if not job.mentions("all_reduce", "reduce") or not job.mentions("grad"):
        return
    for function in job.project.functions:
        for site in job.project.walk(function).sites:
            call = site.node
            plain = canonical(call.func, function.script) == "torch.distributed.all_reduce" and _is_sum(call)
            if not plain and not _is_sum_of_accelerate(call, function, job):
                continue
            if call.args and _is_gradient(call.args[0], function, job) and not _divides_anywhere(function, job):
                yield hit(_SUMMED, function, call, call=shown(call))
                break


def _is_sum(call: ast.Call) -> bool:
    """Whether a call adds, over all ranks: what is done in a group of its own may well be a sum."""
    op = argument(call, "op", 1)
    return keyword(call, "group") is None and len(call.args) < 3 and (op is None or last(op) == "SUM")


def _is_sum_of_accelerate(call: ast.Call, function: Function, job: ScriptContext) -> bool:
    """Whether a call is Accelerate's `reduce`, which adds unless told otherwise (Accelerate 1.15)."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "reduce":
        return False
    reduction = argument(call, "reduction", 1)
    own = kinds.kind_of(call.func.value, function, job.project, call.lineno) == kinds.ACCELERATOR
    return (own or dotted(call.func.value) == "accelerator") and (reduction is None or constant(reduction) == "sum")


def _is_gradient(node: ast.expr, function: Function, job: ScriptContext) -> bool:
    name = dotted(node)
    value = job.project.single(node, function) if name else None
    if isinstance(value, ast.Call) and last(value.func) in _FLATTENS:
        given = [job.project.single(one, function) or one for one in value.args]
        return any("grad" in words(one) for one in given)
    return any(text == "grad" or text.endswith((".grad", ".grad.data")) for text in (name, dotted(value or node)))


def _divides_anywhere(function: Function, job: ScriptContext) -> bool:
    """Whether the function divides anything, or any file something by the number of ranks."""
    if any(_is_division(node) for node in nodes(function.node)):
        return True
    for script in job.project.scripts:
        for node in script.nodes:
            share = isinstance(node, ast.BinOp) and "batch" in last(node.left).lower()  # of a batch, which is no mean
            if share or not _is_division(node):
                continue
            if any(part in word.lower() for word in words(_divisor(node)) for part in _SIZES):
                return True
    return False


def _is_division(node: ast.AST) -> bool:
    if isinstance(node, (ast.BinOp, ast.AugAssign)):
        return isinstance(node.op, (ast.Div, ast.FloorDiv, ast.Mult))
    return isinstance(node, ast.Call) and last(node.func) in _DIVIDES


def _divisor(node: ast.AST) -> ast.AST:
    return node.right if isinstance(node, ast.BinOp) else node.value if isinstance(node, ast.AugAssign) else node


def hook_sums(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield communication hooks of DDP that add the gradients up and never divide them by the number of ranks."""
    for function, call in job.calls() if job.mentions("register_comm_hook") else ():
        given = argument(call, "hook", 1)
        if last(call.func) != "register_comm_hook" or given is None:
            continue
        hook = job.project.referred(given, function)
        sums = [] if hook is None else [n for n in nodes(hook.node) if isinstance(n, ast.Call) and _adds(n, hook)]
        if hook is not None and sums and not any(_is_division(node) for node in nodes(hook.node)):
            yield hit(_HOOK, hook, sums[0], call=shown(sums[0].func), hook=hook.name)


def _adds(call: ast.Call, function: Function) -> bool:
    return canonical(call.func, function.script) == "torch.distributed.all_reduce" and _is_sum_of_hook(call)


def _is_sum_of_hook(call: ast.Call) -> bool:
    op = argument(call, "op", 1)
    return op is None or last(op) == "SUM"


def averaged_twice(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield losses that are divided by a count of all ranks, and whose gradients DDP divides by their number again."""
    if not job.mentions("DistributedDataParallel", "Accelerator") or job.mentions("register_comm_hook"):
        return
    for function, call in job.calls():
        if last(call.func) != "backward" or not isinstance(call.func, ast.Attribute):
            continue
        loss = call.args[0] if call.args else call.func.value
        for part, scope in _made_of(loss, function, call.lineno, job):
            if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Div) and _is_of_all(part.right, scope, job):
                yield hit(_TWICE, scope, part, loss=shown(part), total=shown(part.right))


def _made_of(loss: ast.expr, function: Function, line: int, job: ScriptContext) -> Iterator[tuple[ast.AST, Function]]:
    """Yield the parts of what a loss is made of, here or in the function that returns it, where nothing scales it."""
    made = job.project.walk(function).assigned(dotted(loss), before=line) if dotted(loss) else []
    values = [(made[-1].value, function)] if made else [(loss, function)]
    if isinstance(values[0][0], ast.Call):
        values = job.project.returned(values[0][0], function)
    for value, scope in values:
        if not _is_scaled(value):
            yield from ((part, scope) for part in nodes(value))


def _is_scaled(node: ast.AST) -> bool:
    """Whether the number of ranks occurs in an expression."""
    return any(part in word.lower() for word in words(node) for part in (*_SIZES[:1], *_SIZES[2:]))


def _is_of_all(count: ast.expr, function: Function, job: ScriptContext) -> bool:
    """Whether a divisor is a sum over all ranks, which nothing divides by their number."""
    for node in nodes(count):
        name = dotted(node) if isinstance(node, ast.Name) else ""
        made = job.project.walk(function).assigned(name, before=count.lineno) if name else []
        if made and not _is_scaled(made[-1].value) and _is_summed(name, made[-1].value, count.lineno, function, job):
            return True
    return False


def _is_summed(name: str, value: ast.expr, line: int, function: Function, job: ScriptContext) -> bool:
    """Whether a value comes out of a collective that adds, or was given to one above a line."""
    inside = [part for part in nodes(value) if isinstance(part, ast.Call) and agrees(part, function, job.project)]
    above = [
        site.node
        for site in job.project.walk(function).sites
        if site.node.lineno < line and site.node.args and dotted(site.node.args[0]) == name
    ]
    sums = [*inside, *(call for call in above if agrees(call, function, job.project))]
    named = {word.lower() for call in sums for word in words(call)}
    kinds = {constant(keyword(call, "reduction")) for call in sums}
    return bool(sums) and not named & {"avg", "max", "min"} and not kinds & {"mean", "max", "min"}


RULES = (
    ScriptRule(ids=(_RECEIVED,), check=both_send),
    ScriptRule(ids=(_SENT,), check=all_send),
    ScriptRule(ids=(_SUMMED,), check=summed),
    ScriptRule(ids=(_HOOK,), check=hook_sums),
    ScriptRule(ids=(_TWICE,), check=averaged_twice),
)
