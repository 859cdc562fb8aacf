"""FSDP: units that were forgotten, optimizers with parameters from before an exchange, what differs by rank."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import arguments, keyword
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last, shown, words
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.outside import MAKERS, Reason
from distkb.evidence.readers.scripts.things import Event, Thing

_ROOT = "script.fully-shard-root-only"
_PARTS, _EXCHANGED = "script.root-not-sharded", "script.optimizer-before-exchange"
_ONE = "script.loaded-by-one-before-sharding"
_CHOSEN, _CHANCE = "script.chosen-after-fsdp", "script.model-by-chance"


def _calls(job: ScriptContext, name: str) -> Iterator[tuple[Function, ast.Call, bool]]:
    for function, site in job.sites():
        full = canonical(site.node.func, function.script)
        if full.rpartition(".")[2] == name and "." in full:
            yield function, site.node, bool(site.where.loops)


def root_only(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield the only fully_shard of a project where it shards a whole model as one unit."""
    calls = list(_calls(job, "fully_shard"))
    if len(calls) != 1 or calls[0][2] or job.mentions("apply_fsdp", "wrap_policy", "auto_wrap_policy"):
        return
    function, call, _ = calls[0]
    name = dotted(call.args[0]) if call.args else ""
    is_model = name.rpartition(".")[2] in {"model", "net", "network"}
    is_plain = keyword(call, "policy") is None
    if is_model and is_plain and not _is_applied(call, function, job):
        yield hit(_ROOT, function, call, model=name)


def _is_applied(call: ast.Call, function: Function, job: ScriptContext) -> bool:
    """Whether the call stands in a comprehension or a small function that is applied to many modules."""
    for node in nodes(function.node):
        if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.Lambda)) and any(n is call for n in nodes(node)):
            return True
    if not call.args or dotted(call.args[0]) not in function.parameters:
        return False
    callers = job.project.callers(function)
    if not callers:
        return function.name in job.vocabulary
    return len(callers) > 1 or any(site.where.loops for _, site in callers)


def exchanged(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield optimizers made from parameters that are exchanged for others afterwards, and of which no other is made."""
    if job.mentions("add_param_group"):
        return
    told: set[int] = set()
    for events in job.episodes:
        made: list[Event] = []
        for index, event in enumerate(events):
            if event.kind == "optimizer":
                made = [old for old in made if not _share(old.things[1:], event.things[1:])] + [event]
            for old in made if event.kind == "exchange" else ():
                if id(old.node) in told or not isinstance(old.node, ast.Call) or not _is_of(event, old.things[1:]):
                    continue
                behind = events[index + 1 :]
                if not any(e.kind == "optimizer" and _share(e.things[1:], old.things[1:]) for e in behind):
                    told.add(id(old.node))
                    values = {"exchange": shown(event.node), "exchange_line": str(event.node.lineno)}
                    found = hit(_EXCHANGED, old.function, old.node, optimizer=shown(old.node.func), **values)
                    yield msgspec.structs.replace(found, more=((event.function.script, event.node.lineno),))


def _is_of(exchange: Event, models: Sequence[Thing]) -> bool:
    """Whether what is exchanged belongs to one of the models, or, where all of a model is, holds one of them."""
    ids = {id(model) for model in models}
    if any(id(whole) in ids for thing in exchange.things for whole in thing.wholes()):
        return True
    every = {id(thing) for thing in exchange.things} if exchange.value != "part" else set()
    return any(id(whole) in every for model in models for whole in model.wholes())


def parts_only(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield models of which parts are sharded and trained, and the rest belongs to no unit."""
    for events in job.episodes:
        sharded = {id(thing): (thing, event) for event in events if event.kind == "shard" for thing in event.things}
        for event in (event for event in events if event.kind == "optimizer"):
            for model in event.things[1:]:
                inner = [e for thing, e in sharded.values() if model in thing.wholes()[1:]]
                covered = any(id(whole) in sharded for whole in model.wholes())
                if inner and not covered and model.cls is not None and model.owns_parameters:
                    told = max(inner, key=lambda one: one.node.lineno)
                    yield hit(_PARTS, told.function, told.node, model=model.cls.name, wrap=shown(told.node))
                    return


def _share(some: Iterable[Thing], others: Iterable[Thing]) -> bool:
    """Whether a model is among both."""
    return not {id(one) for one in some}.isdisjoint(id(model) for other in others for model in other.models())


_SENDS = (
    "broadcast", "broadcast_from_rank0", "sync_module_states", "cpu_ram_efficient_loading", "fsdp_sync_module_states",
    "distribute_tensor", "broadcast_object_list", "_sync_module_states", "prepare",
)  # fmt: skip
"""Names of what gives one rank's weights to the others."""


def loaded_by_one(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield weights that only some ranks load into a model which every rank then shards as it has it."""
    if job.mentions(*_SENDS):
        return
    for function, site in job.sites():
        call, guard = site.node, site.where.guard
        if site.where.side == "both" or guard is None or not isinstance(call.func, ast.Attribute):
            continue
        model = dotted(call.func.value)
        line = _shards(model, call.lineno, function, job) if call.func.attr == "load_state_dict" and model else 0
        if not line and call.func.attr == "load_state_dict" and model:
            line = _shards_returned(model, function, job)
        if line:
            yield hit(_ONE, function, call, model=model, test=shown(guard.node), wrap_line=str(line))


def _shards(model: str, after: int, function: Function, job: ScriptContext) -> int:
    """Return the line below which a model is sharded in place or wrapped; 0 where it is not."""
    for site in job.project.walk(function).sites:
        call = site.node
        sharding = kinds.kind_of(call, function, job.project) in {kinds.FSDP1, kinds.FSDP2}
        if sharding and call.lineno > after and call.args and dotted(call.args[0]) == model:
            return call.lineno
    return 0


def _shards_returned(model: str, function: Function, job: ScriptContext) -> int:
    """Return the line in which a caller shards the model that a function gives back; 0 where none does."""
    if not any(dotted(value) == model for value, _ in job.project.walk(function).returns):
        return 0
    for caller, site in job.project.callers(function):
        for other in job.project.walk(caller).sites:
            sharding = kinds.kind_of(other.node, caller, job.project) in {kinds.FSDP1, kinds.FSDP2}
            if sharding and any(part is site.node for part in other.node.args):
                return other.node.lineno
        for made in job.project.walk(caller).assignments:
            if made.value is site.node and made.index is None:
                return _shards(made.target, made.line, caller, job)
    return 0


def chosen(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield parameters that are chosen by name or shape from an FSDP1 model that has only flat ones."""
    if job.mentions("use_orig_params"):
        return
    for function in job.project.functions:
        for node in nodes(function.node):
            for over, tests in _chooses(node):
                source = job.project.single(over, function) if isinstance(over, ast.Name) else over
                model = _owner_of_parameters(source)
                wrapped = model is not None and kinds.kind_of(model, function, job.project, over.lineno) == kinds.FSDP1
                names = _named_by(node, source)
                test = next((one for one in tests if _asks_for_name_or_shape(one, names)), None)
                if model is not None and wrapped and test is not None:
                    yield hit(_CHOSEN, function, test, test=shown(test), model=shown(model))


def _chooses(node: ast.AST) -> Iterator[tuple[ast.expr, list[ast.expr]]]:
    """Yield what a loop or comprehension goes through, with the tests in it."""
    if isinstance(node, ast.For):
        yield node.iter, [part.test for part in nodes(node) if isinstance(part, (ast.If, ast.IfExp))]
    for generator in getattr(node, "generators", ()):
        yield generator.iter, generator.ifs


def _owner_of_parameters(node: ast.expr | None) -> ast.expr | None:
    """Return `model` of `model.parameters()`, of `model.named_parameters()`, and of a list of them."""
    for part in nodes(node) if node is not None else ():
        method = part.func if isinstance(part, ast.Call) else None
        if isinstance(method, ast.Attribute) and method.attr in {"parameters", "named_parameters"}:
            return method.value
    return None


_NAME_OR_SHAPE = frozenset({"dim", "ndim", "ndimension", "shape", "endswith", "startswith"})


def _named_by(node: ast.AST, source: ast.expr | None) -> set[str]:
    """Return what a loop over `named_parameters` calls their names."""
    if source is None or "named_parameters" not in words(source):
        return set()
    targets = [node.target] if isinstance(node, ast.For) else [one.target for one in getattr(node, "generators", ())]
    return {last(one.elts[0]) for one in targets if isinstance(one, ast.Tuple) and one.elts}


def _asks_for_name_or_shape(test: ast.expr, names: set[str]) -> bool:
    for part in nodes(test):
        if isinstance(part, ast.Compare) and names & {last(one) for one in (part.left, *part.comparators)}:
            return True
        if isinstance(part, ast.Call) and last(part.func) in {"search", "match"} and names & set(map(last, part.args)):
            return True
        if isinstance(part, ast.Attribute) and part.attr in _NAME_OR_SHAPE:
            return True
        texts = isinstance(part, ast.Compare) and isinstance(part.ops[0], (ast.In, ast.NotIn))
        if texts and isinstance(part, ast.Compare) and isinstance(constant(part.left), str):
            return True
    return False


def _is_drawn_number(reason: Reason) -> bool:
    """Whether it is a number drawn at random; a tensor of random values is as large on every rank."""
    is_tensor = isinstance(reason.node, ast.Call) and MAKERS.match(dotted(reason.node.func))
    return reason.origin == "chance" and not is_tensor


def by_chance(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield models whose size is drawn at random, where the ranks draw different numbers."""
    if not job.is_parallel or not job.draws_differ:
        return
    for function, call in job.calls():
        target = job.project.target(call, function)
        owner = target.owner if target is not None and target.name.endswith(".__init__") else None
        if owner is None or not any(last(base) == "Module" for base in owner.node.bases):
            continue
        for given in arguments(call):
            drawn = next((r for r in job.origins.of(given, function) if _is_drawn_number(r)), None)
            if drawn is not None:
                values = {"model": owner.name, "given": shown(given), "call": shown(drawn.node)}
                yield hit(_CHANCE, function, call, **values)
                break


RULES = (
    ScriptRule(ids=(_PARTS,), check=parts_only, follows=True),
    ScriptRule(ids=(_ONE,), check=loaded_by_one),
    ScriptRule(ids=(_ROOT,), check=root_only),
    ScriptRule(ids=(_EXCHANGED,), check=exchanged, follows=True),
    ScriptRule(ids=(_CHOSEN,), check=chosen),
    ScriptRule(ids=(_CHANCE,), check=by_chance),
)
