"""Settings that come too late, and states that nothing reads again."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import keyword, spreads_keywords
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, last, shown
from distkb.evidence.readers.scripts.nodes import nodes

_TIMEOUT, _UNREAD = "script.timeout-after-group", "script.saved-never-loaded"
_STATES = frozenset({"PartialState", "AcceleratorState"})
_LOADS = re.compile(r"(?i)load_state|load_checkpoint|torch\.load$|resume|restore|\.load$|load_snapshot|load_ckpt")


def timeout_late(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield longer timeouts that are told when the process group exists already, with the usual one."""
    told = [(function, site) for function, site in job.sites() if _tells_timeout(site.node)]
    for function, site in told:
        begins = [*_begins(job), *_by_frameworks(function, site, job)]
        first = next((one for one in begins if _is_before(one, (function, site))), None)
        if first is not None:
            made = first[1].node
            found = {"made": shown(made.func), "made_line": str(made.lineno), "setting": _setting(site.node)}
            yield hit(_TIMEOUT, function, site.node, **found)
            return


def _tells_timeout(call: ast.Call) -> bool:
    if last(call.func) == "InitProcessGroupKwargs":
        return keyword(call, "timeout") is not None
    return last(call.func).endswith("Arguments") and keyword(call, "ddp_timeout") is not None


def _setting(call: ast.Call) -> str:
    return "timeout" if last(call.func) == "InitProcessGroupKwargs" else "ddp_timeout"


def _begins(job: ScriptContext) -> Iterator[tuple[Function, Site]]:
    """Yield the calls that make a process group with the timeout that it has by itself."""
    for function, site in job.sites():
        call = site.node
        spread = spreads_keywords(call)
        full = canonical(call.func, function.script)
        is_state = last(call.func) in _STATES and not call.args and not call.keywords
        if is_state or (full == "torch.distributed.init_process_group" and not spread):
            yield function, site


def _by_frameworks(function: Function, told: Site, job: ScriptContext) -> Iterator[tuple[Function, Site]]:
    """Yield what makes the group with its usual timeout in the function where Accelerate is told another one.

    `Accelerator` does so, and arguments of the Trainer do as soon as they exist (transformers 4 and 5).
    """
    if last(told.node.func) != "InitProcessGroupKwargs":
        return
    for site in job.project.walk(function).sites:
        call = site.node
        full = canonical(call.func, function.script)
        spread = spreads_keywords(call) or not site.where.certain
        if spread or any(part is told.node for part in nodes(call)):
            continue
        is_accelerator = full.startswith("accelerate.") and last(call.func) == "Accelerator"
        if is_accelerator and keyword(call, "kwargs_handlers") is None:
            yield function, site
        if full.startswith("transformers.") and full.endswith("TrainingArguments") and not keyword(call, "ddp_timeout"):
            yield function, site


def _is_before(one: tuple[Function, Site], other: tuple[Function, Site]) -> bool:
    """Whether a call comes before another: on the top level of a file, above it, or in another function that begins."""
    (function, site), (later, then) = one, other
    if function is later:
        return site.node.lineno < then.node.lineno
    return function.name == "<module>" or last(site.node.func) == "init_process_group"


_ELASTIC = ("record", "TORCHELASTIC_RESTART_COUNT", "max_restarts", "--max-restarts", "elastic_launch")
"""What shows that torchrun may start the program again."""


def never_loaded(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield checkpoints of a program that is started again, with the optimizer's state, that nothing in it reads."""
    if not job.is_parallel or not job.mentions(*_ELASTIC) or _may_load(job):
        return
    for function, site in job.sites():
        call = site.node
        if canonical(call.func, function.script) != "torch.save" or not call.args:
            continue
        if not site.where.loops and not any(s.where.loops for _, s in job.project.callers(function)):
            continue
        made = job.project.single(call.args[0], function) or call.args[0]
        if _holds_optimizer(made):
            yield hit(_UNREAD, function, call, call=shown(call.func))
            return


def _may_load(job: ScriptContext) -> bool:
    """Whether anything may bring a state back: a load, an argument to resume from, a name that says so."""
    if any(_LOADS.search(canonical(call.func, function.script)) for function, call in job.calls()):
        return True
    return any(re.search(r"(?i)resume|restore|load_state|load_ckpt|checkpoint_path|from_checkpoint", word)
               for word in job.vocabulary)  # fmt: skip


def _holds_optimizer(node: ast.expr) -> bool:
    called = [part.func for part in nodes(node) if isinstance(part, ast.Call) and last(part.func) == "state_dict"]
    owners = [last(func.value).lower() for func in called if isinstance(func, ast.Attribute)]
    return any("opt" in name for name in owners)


RULES = (
    ScriptRule(ids=(_TIMEOUT,), check=timeout_late),
    ScriptRule(ids=(_UNREAD,), check=never_loaded),
)
