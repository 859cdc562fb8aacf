"""Requests of isend and irecv that nobody waits for."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, dotted, shown
from distkb.evidence.readers.scripts.nodes import nodes

_DROPPED = "script.request-let-go"
_STARTS = frozenset({f"torch.distributed.{name}" for name in ("isend", "irecv", "batch_isend_irecv")})
_AWAITS = ("wait", "is_completed", "get_future")


def let_go(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield messages that are only started, and whose request is kept nowhere or waited for by nobody."""
    if not job.mentions("isend", "irecv", "batch_isend_irecv"):
        return
    nobody_waits = not job.mentions(*_AWAITS)
    for function, site in job.sites():
        if canonical(site.node.func, function.script) not in _STARTS or site.where.expects_error:
            continue
        returned = isinstance(site.statement, ast.Return)
        if _is_dropped(site, function) or (nobody_waits and not returned):
            yield hit(_DROPPED, function, site.node, call=shown(site.node))


def _is_dropped(site: Site, function: Function) -> bool:
    """Whether a request is thrown away at once, or put into a name that nothing reads."""
    statement = site.statement
    if isinstance(statement, ast.Expr):
        return statement.value is site.node
    if (
        not isinstance(statement, ast.Assign)
        or statement.value is not site.node
        or isinstance(function.node, ast.Module)
    ):
        return False
    names = {dotted(target) for target in statement.targets if isinstance(target, ast.Name)}
    read = {part.id for part in nodes(function.node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load)}
    return len(names) == len(statement.targets) and not names & read


RULES = (ScriptRule(ids=(_DROPPED,), check=let_go),)
