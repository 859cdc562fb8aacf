"""Calls that need every rank, in branches that only some ranks take."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import msgspec

from distkb.evidence.readers.scripts.arguments import argument, arguments, keyword
from distkb.evidence.readers.scripts.collectives import Implied, implied
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import Guard, Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last, shown

_IDS = {
    "collective": "script.collective-on-some-ranks",
    "hidden": "script.hidden-collective-on-some-ranks",
    "group": "script.group-on-some-ranks",
    "save": "script.save-on-some-ranks",
    "state-dict": "script.state-dict-on-some-ranks",
    "forward": "script.forward-on-some-ranks",
    "ddp-forward": "script.ddp-forward-on-some-ranks",
    "engine-forward": "script.engine-forward-on-some-ranks",
    "trainer-save": "script.trainer-save-on-some-ranks",
    "accelerate-save": "script.accelerate-save-on-some-ranks",
}
_LEFT = "script.collective-after-rank-left"
_MEMBERS = "script.group-with-other-members"
_FIRST, _LOCKED = "script.collective-in-main-first", "script.collective-under-lock"
_DOORS = {
    **dict.fromkeys(("main_process_first", "local_main_process_first", "rank_zero_first", "zero_first", "local_first",
                     "torch_distributed_zero_first", "distributed_zero_first", "global_first"), _FIRST),
    **dict.fromkeys(("FileLock", "SoftFileLock", "UnixFileLock", "InterProcessLock"), _LOCKED),
}  # fmt: skip
"""Blocks that ranks enter one after the other."""
_WHEREVER = frozenset({"collective", "hidden", "group", "save", "state-dict"})
"""Calls that need every rank whatever the model is."""
_DEPTH = 4
"""Functions in one another that are looked through for what needs all ranks."""
_OF_THEIR_OWN = frozenset({"hidden", "ddp-forward", "engine-forward", "trainer-save", "accelerate-save"})
"""Calls of which more is to be said than that ranks have left: a hidden collective, what hangs for some models only."""


class _Lonely(msgspec.Struct, frozen=True, eq=False):
    """A call that needs every rank, where only some are."""

    site: Site
    need: Implied
    guard: Guard


def on_some_ranks(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield what only the main rank, or only the others, call."""
    for function in job.project.functions:
        lonely = _unmatched(list(_lonely(function, job)), list(_handed_on(function, job)))
        seen: set[tuple[int, str]] = set()
        for item in lonely:
            key = (id(item.guard.node), item.need.category)
            if key not in seen:
                seen.add(key)
                yield _hit(item, function)


def _lonely(function: Function, job: ScriptContext) -> Iterator[_Lonely]:
    for site in job.project.walk(function).sites:
        if site.where.side == "both" or site.where.guard is None:
            continue
        for need in job.effects.of_call(site.node, function):
            if not _is_computed_already(need, function, job):
                yield _Lonely(site, need, site.where.guard)


def _is_computed_already(need: Implied, function: Function, job: ScriptContext) -> bool:
    """Whether every rank has had a metric compute above, which keeps its result, or its exchange is switched off."""
    if need.category != "hidden" or need.chain or last(need.node.func) != "compute":
        return False
    metric = dotted(need.node.func)
    for site in job.project.walk(function).sites:
        is_same = dotted(site.node.func) == metric and site.node.lineno < need.node.lineno
        if is_same and site.where.side == "both":
            return True
    return job.project.walk(function).calls(*_SYNCS)


_SYNCS = frozenset({"sync_context", "sync", "unsync", "_apply_sync"})
"""Methods with which a script decides itself when a metric exchanges its states."""


def _handed_on(function: Function, job: ScriptContext) -> Iterator[_Lonely]:
    """Yield what a function calls that one side hands to somebody who calls it: `study.optimize(objective)`."""
    for site in job.project.walk(function).sites:
        if site.where.side == "both" or site.where.guard is None:
            continue
        for given in arguments(site.node):
            called = job.project.referred(given, function)
            for need in job.effects.of(called) if called is not None else ():
                yield _Lonely(site, need, site.where.guard)


def _unmatched(found: list[_Lonely], handed_on: list[_Lonely]) -> list[_Lonely]:
    """Leave out what both sides call: the two branches of one test, or a barrier before and one after some work."""
    counts: dict[str, dict[str, int]] = {}
    for item in (*found, *handed_on):
        sides = counts.setdefault(_what(item.need), {"main": 0, "other": 0})
        sides[item.site.where.side] += 1
    return [item for item in found if not all(counts[_what(item.need)].values())]


def _what(need: Implied) -> str:
    """What both sides have to call; of a group with the same members, because every rank makes every group."""
    return need.name if need.category != "group" else f"{need.name} {ast.dump(ast.Tuple(elts=need.node.args))}"


def other_members(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield groups whose list of members is not the same on every rank."""
    for function, site in job.sites():
        call = site.node
        full = canonical(call.func, function.script)
        if not full.startswith("torch.distributed.") or last(call.func) != "new_group":
            continue
        members = argument(call, "ranks", 0)
        if members is None or constant(keyword(call, "use_local_synchronization")) is True:
            continue
        deciding = [members, *(site.where.tests if site.where.side == "both" else ())]
        reasons = (r for node in deciding for r in job.origins.of(node, function))
        reason = next((r for r in reasons if r.origin in {"rank", "part"}), None)
        if reason is not None:
            yield hit(_MEMBERS, function, call, members=shown(members), on=shown(reason.node))


def _hit(item: _Lonely, function: Function) -> ScriptFinding:
    need, guard = item.need, item.guard
    identity = _IDS[need.category]
    if guard.left is not None and need.category not in _OF_THEIR_OWN:
        identity = _LEFT
    chain = " → ".join((*(f"{name}()" for name in need.chain), need.name))
    found = hit(
        identity,
        function,
        item.site.node,
        call=shown(item.site.node.func),
        needs=chain,
        test=shown(guard.node),
        test_line=str((guard.left or guard.node).lineno),
    )
    inner = ((need.function.script, need.node.lineno),) if need.chain else ()
    return ScriptFinding(
        id=found.id,
        script=found.script,
        line=found.line,
        values=found.values,
        more=((function.script, (guard.left or guard.node).lineno), *inner),
    )


def in_main_first(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield collectives inside of blocks that ranks enter one after the other, by rank or with a file lock."""
    for function in job.project.functions:
        seen: set[int] = set()
        for site in job.project.walk(function).sites:
            doors = {last(getattr(block, "func", block)): block for block in site.where.blocks}
            name = next((name for name in doors if name in _DOORS), None)
            if name is None or id(doors[name]) in seen or site.where.side != "both":
                continue
            needed = _inside(site.node, function, job)
            if needed:
                seen.add(id(doors[name]))
                chain = " → ".join(needed)
                values = {"call": shown(site.node.func), "needs": chain, "block": shown(doors[name])}
                yield hit(_DOORS[name], function, site.node, **values)


def _inside(call: ast.Call, function: Function, job: ScriptContext, depth: int = 0) -> tuple[str, ...]:
    """Return the functions that lead from a call to one that needs all ranks, under whichever test, and its name."""
    need = implied(call, function, job.project)
    if need is not None and need.category in _WHEREVER:
        return (need.name,)
    if job.project.declared.has_third_stage and last(call.func) in {"from_pretrained", "from_config"}:
        owner = last(call.func.value) if isinstance(call.func, ast.Attribute) else ""
        if "Model" in owner or "For" in owner:
            return (f"deepspeed.zero.Init({owner})",)
    for target, site in job.project.below(call, function) if depth < _DEPTH else ():
        found = _inside(site.node, target, job, depth + 1) if site.where.side == "both" else ()
        if found:
            return (f"{target.name}()", *found)
    return ()


RULES = (
    ScriptRule(ids=(*_IDS.values(), _LEFT), check=on_some_ranks),
    ScriptRule(ids=(_FIRST, _LOCKED), check=in_main_first),
    ScriptRule(ids=(_MEMBERS,), check=other_members),
)
