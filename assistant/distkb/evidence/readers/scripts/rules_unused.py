"""Parameters under DDP that get no gradient by the way in which the model is written or trained."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import has_spread, keyword, receiver
from distkb.evidence.readers.scripts.definitions import Class, Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import literals, made_by
from distkb.evidence.readers.scripts.names import WITHOUT_GRADIENTS, canonical, constant, dotted, last, shown, words
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.rules_model import given_to_ddp, wrappings
from distkb.evidence.readers.scripts.things import Event, Thing

_OFF, _POOLER = "script.layer-switched-off", "script.pooler-unused"
_HIDDEN, _COPY = "script.layer-without-graph", "script.loss-made-anew"
_TURNS, _OPTIMIZERS = "script.parts-by-argument", "script.optimizers-in-turn"
_FROZEN, _BEHIND = "script.frozen-model-wrapped", "script.frozen-by-helper-after-ddp"
_FINDS = ("find_unused_parameters", "ddp_find_unused_parameters_true", "static_graph")
_WITH_POOLER = frozenset({"BertModel", "RobertaModel", "XLMRobertaModel", "CamembertModel", "ViTModel", "BeitModel",
                          "DeiTModel", "AlbertModel", "Data2VecTextModel", "ErnieModel"})  # fmt: skip
"""Models of Transformers that make a pooler unless they are told not to (`add_pooling_layer`)."""
_DEPTH = 3


def models(job: ScriptContext) -> list[Class]:
    """Return the project's models that DDP wraps, be it by Accelerate, the Trainer or Lightning."""
    found: dict[int, Class] = {}
    for function, given in given_to_ddp(job):
        calls = made_by(given, function, job.project)
        made = [job.project.class_named(call.func, scope.script) for _, call, scope in calls]
        for model in (kinds.model_class(given, function, job.project), *made):
            if model is not None and "forward" in model.methods:
                found[id(model)] = model
    if is_lightning_ddp(job):
        for function in job.project.functions:
            owner = function.owner
            if owner is not None and any(last(base) == "LightningModule" for base in owner.node.bases):
                found[id(owner)] = owner
    for model in list(found.values()):
        found |= {id(part): part for part in _inside(model, job, 0)}
    return list(found.values())


def _inside(model: Class, job: ScriptContext, depth: int) -> Iterator[Class]:
    """Yield the project's models that a model makes as its own parts."""
    for values in job.project.attribute_values(model).values() if depth < _DEPTH else ():
        for value in values:
            part = job.project.class_named(value.func, model.script) if isinstance(value, ast.Call) else None
            if part is not None and part is not model and "forward" in part.methods:
                yield part
                yield from _inside(part, job, depth + 1)


def is_lightning_ddp(job: ScriptContext) -> bool:
    """Whether a Trainer of Lightning is told to use DDP as it is."""
    for function, call in job.calls():
        if kinds.kind_of(call, function, job.project) == kinds.PL_TRAINER:
            strategy = keyword(call, "strategy")
            if strategy is not None and constant(strategy) == "ddp":
                return True
    return False


def finds_unused(job: ScriptContext) -> bool:
    """Whether any wrapping looks for what gets no gradient, or may do so."""
    trainer = job.mentions("TrainingArguments") and not job.mentions("ddp_find_unused_parameters")
    told = (node for script in job.project.scripts for node in script.nodes if isinstance(node, ast.keyword))
    off = [constant(word.value) is False for word in told if word.arg and word.arg.endswith("find_unused_parameters")]
    spread = any(has_spread(call) for _, call in wrappings(job))
    return trainer or spread or (job.mentions(*_FINDS) and not (off and all(off)))


def _layers(model: Class, job: ScriptContext) -> dict[str, ast.Call]:
    """Return the attributes to which the constructor gives a layer or a model, with the call that makes it."""
    init = model.methods.get("__init__")
    made = job.project.walk(init).assignments if init is not None else []
    return {
        one.target: one.value
        for one in made
        if one.target.startswith("self.") and isinstance(one.value, ast.Call) and _has_weights(one.value, model)
    }


def _has_weights(call: ast.Call, model: Class) -> bool:
    full = canonical(call.func, model.script)
    light = ("Loss", "ReLU", "GELU", "SiLU", "Tanh", "Sigmoid", "Softmax", "Dropout", "Identity", "Flatten", "Pool")
    is_layer = full.startswith("torch.nn.") and full.count(".") == 2 and not any(part in full for part in light)
    return is_layer or (last(call.func)[:1].isupper() and not full.startswith("torch"))


def switched_off(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield layers of a model under DDP that are used only where a setting of its own holds, and it does not."""
    for model in models(job) if not finds_unused(job) else ():
        layers = _layers(model, job)
        uses: dict[str, list[tuple[Function, ast.Call, tuple[ast.expr, ...]]]] = {}
        for method in model.methods.values():
            for site in job.project.walk(method).sites:
                uses.setdefault(dotted(site.node.func), []).append((method, site.node, site.where.tests))
        for name in layers:
            used = uses.get(name, [])
            off = [next((t for t in tests if _is_off(t, method, job)), None) for method, _, tests in used]
            if used and all(test is not None for test in off) and off[0] is not None:
                method, call, _ = used[0]
                yield hit(_OFF, method, call, layer=name, test=shown(off[0]), model=model.name)


def _is_off(test: ast.expr, method: Function, job: ScriptContext) -> bool:
    """Whether a test asks whether a setting is on, or above zero, that is off or zero wherever it is written out."""
    asked = test
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Gt) and constant(test.comparators[0]) == 0:
        asked = test.left
    if not isinstance(asked, ast.Attribute):
        return False
    values = literals(asked, method, job.project)
    return bool(values) and all(value is not None and not value for value in values)


def pooler(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield encoders of Transformers under DDP whose pooler nothing asks for."""
    if finds_unused(job) or job.mentions("pooler_output", "add_pooling_layer", "requires_grad", "requires_grad_"):
        return
    if (
        not job.mentions("last_hidden_state")
        or job.mentions("pooler")
        or not (models(job) or any(True for _ in wrappings(job)))
    ):
        return
    for function, call in job.calls():
        owner = receiver(call)
        named = last(owner) if owner is not None and last(call.func) == "from_pretrained" else ""
        if named in _WITH_POOLER and owner is not None and "transformers" in canonical(owner, function.script):
            yield hit(_POOLER, function, call, model=named)


def without_graph(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield layers of a model under DDP that nothing freezes and that run only without a graph, or are detached."""
    if job.mentions("requires_grad", "requires_grad_", "freeze", "frozen"):
        return
    for model in models(job):
        layers = _layers(model, job)
        seen: dict[str, list[tuple[Function, ast.Call, bool]]] = {}
        for method in model.methods.values():
            detached = {
                id(node.func.value)
                for node in nodes(method.node)
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "detach"
            }
            decorators = getattr(method.node, "decorator_list", [])
            whole = any(last(getattr(one, "func", one)) in WITHOUT_GRADIENTS for one in decorators)
            for site in job.project.walk(method).sites:
                hides = whole or bool(site.where.entered & WITHOUT_GRADIENTS) or id(site.node) in detached
                seen.setdefault(dotted(site.node.func), []).append((method, site.node, hides))
        for name in layers:
            calls = seen.get(name, [])
            read = sum(dotted(node) == name for m in model.methods.values() for node in nodes(m.node)) - 1
            if calls and all(hides for *_, hides in calls) and read == len(calls):
                method, call, _ = calls[0]
                yield hit(_HIDDEN, method, call, layer=name, model=model.name)


def made_anew(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield tensors that ask for gradients and are made of a bare number or of what was cut from the graph."""
    for function, call in job.calls() if job.mentions("backward", "training_step") and job.is_parallel else ():
        full = canonical(call.func, function.script)
        asks = constant(keyword(call, "requires_grad")) is True
        if not asks or full not in {"torch.tensor", "torch.as_tensor", "torch.autograd.Variable"} or not call.args:
            continue
        if {"item", "detach", "data", "numpy", "tolist"} & words(call.args[0]):
            yield hit(_COPY, function, call, call=shown(call))


def parts_by_argument(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield tests of a forward, around other parts, on an argument that DDP's calls write out in two ways."""
    for model in models(job) if not finds_unused(job) else ():
        forward = model.methods.get("forward")
        if forward is None:
            continue
        given = _written_out(forward, job)
        layers = _layers(model, job)
        for node in nodes(forward.node):
            if not isinstance(node, ast.If) or not isinstance(node.test, (ast.Compare, ast.Name)):
                continue
            asked = node.test.left if isinstance(node.test, ast.Compare) else node.test
            if not isinstance(asked, ast.Name) or len(given.get(asked.id, ())) < 2:
                continue
            rest = _behind(forward.node.body, node)
            one, other = _used(node.body, layers), _used([*node.orelse, *([] if node.orelse else rest)], layers)
            if one != other:
                values = {"test": shown(node.test), "layer": min(one ^ other), "model": model.name}
                yield hit(_TURNS, forward, node.test, **values)
                break


def _behind(body: list[ast.stmt], node: ast.If) -> list[ast.stmt]:
    """Return what follows a test whose branch returns."""
    if node in body and isinstance(node.body[-1], ast.Return):
        return body[body.index(node) + 1 :]
    return []


def _used(body: list[ast.stmt], layers: dict[str, ast.Call]) -> set[str]:
    """Return the layers that learn from what statements do: what is detached, or runs without a graph, does not."""
    parts = [part for statement in body for part in nodes(statement)]
    cut = [p.func.value for p in parts
           if isinstance(p, ast.Call) and isinstance(p.func, ast.Attribute) and p.func.attr == "detach"]  # fmt: skip
    without = {id(inner) for one in cut for inner in nodes(one)}
    return {name for part in parts if id(part) not in without and (name := dotted(part)) in layers}


def _written_out(forward: Function, job: ScriptContext) -> dict[str, set[object]]:
    """Return by parameter of a forward the constants with which wrapped models are called."""
    found: dict[str, set[object]] = {}
    names = forward.parameters[1:]
    wrapped = {kinds.DDP, kinds.PREPARED}
    for function, call in job.calls():
        if kinds.kind_of(call.func, function, job.project, call.lineno) not in wrapped:
            continue
        given = [*zip(names, call.args, strict=False), *((w.arg, w.value) for w in call.keywords)]
        for name, value in given:
            if name is not None and isinstance(value, ast.Constant):
                found.setdefault(name, set()).add(value.value)
    return found


def optimizers_in_turn(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield modules of Lightning that step several optimizers by hand under DDP as it is."""
    if not is_lightning_ddp(job) or finds_unused(job) or job.mentions("DDPStrategy"):
        return
    for function in job.project.functions:
        if function.owner is None or not function.name.endswith(".configure_optimizers"):
            continue
        by_hand = "automatic_optimization" in words(function.owner.node)
        for value, _ in job.project.walk(function).returns if by_hand else ():
            pair = value.elts[0] if isinstance(value, ast.Tuple) and isinstance(value.elts[0], ast.List) else value
            if isinstance(pair, (ast.Tuple, ast.List)) and len(pair.elts) > 1:
                yield hit(_OPTIMIZERS, function, value, count=str(len(pair.elts)))


def frozen_wrapped(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield models that are wrapped, or prepared, when all of their parameters are frozen."""
    told: set[int] = set()
    adapted = job.mentions("add_adapter", "get_peft_model", "LoraConfig", "inject_adapter", "inject_adapter_in_model")
    for events in job.episodes if job.mentions("requires_grad", "requires_grad_") and not adapted else ():
        frozen: dict[int, tuple[Thing, Event]] = {}
        for event in events:
            if event.kind == "grad":
                if event.value is not False:
                    frozen.clear()
                for thing in event.things if event.value is False and not _chooses(event) else ():
                    frozen[id(thing)] = (thing, event)
            elif event.kind == "exchange":
                for thing in event.things:
                    frozen.pop(id(thing), None)
            elif event.kind in {"ddp", "prepare"}:
                inside = [model for thing in event.things for model in thing.models()]
                done = next((frozen[id(model)] for model in inside if id(model) in frozen), None)
                if done is not None and id(event.node) not in told:
                    told.add(id(event.node))
                    line = str((done[1].caller or (None, done[1].node))[1].lineno)
                    yield hit(_FROZEN, event.function, event.node, call=shown(event.node), freeze_line=line)


def frozen_behind(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield parts of a model that a helper, or another function, freezes for good when DDP has wrapped it."""
    if not job.mentions("requires_grad", "requires_grad_") or job.mentions(*_FINDS):
        return
    told: set[int] = set()
    for events in job.episodes:
        wrapped: dict[int, Event] = {}
        for index, event in enumerate(events):
            if event.kind == "ddp":
                wrapped |= {id(model): event for thing in event.things for model in thing.models()}
            if event.kind != "grad" or event.value is not False or event.caller is None:
                continue
            later = events[index + 1 :]
            for thing in event.things:
                inside = [one for one in thing.wholes()[1:] if id(one) in wrapped]
                again = any(e.kind == "ddp" or (e.kind == "grad" and e.value is not False) for e in later)
                if inside and not again and id(event.caller[1]) not in told:
                    told.add(id(event.caller[1]))
                    function, node = event.caller
                    line = str(wrapped[id(inside[0])].node.lineno)
                    yield hit(_BEHIND, function, node, call=shown(node), wrap_line=line)


def _chooses(event: Event) -> bool:
    """Whether the place, or the call that led there, stands under a test, so that it may not be all or not be done."""
    skips = any(isinstance(node, ast.Continue) for node in nodes(event.function.node))
    places = [(event.function, event.node), *([event.caller] if event.caller is not None else [])]
    return skips or any(_is_tested(function, node.lineno) for function, node in places)


def _is_tested(function: Function, line: int) -> bool:
    tests = (node for node in nodes(function.node) if isinstance(node, (ast.If, ast.IfExp)))
    return any(test.lineno <= line <= (test.end_lineno or 0) for test in tests if not _is_main(test))


def _is_main(test: ast.If | ast.IfExp) -> bool:
    """`if __name__ == "__main__":`."""
    return any(dotted(node) == "__name__" for node in nodes(test.test))


RULES = (
    ScriptRule(ids=(_OFF,), check=switched_off),
    ScriptRule(ids=(_POOLER,), check=pooler),
    ScriptRule(ids=(_HIDDEN,), check=without_graph),
    ScriptRule(ids=(_COPY,), check=made_anew),
    ScriptRule(ids=(_TURNS,), check=parts_by_argument),
    ScriptRule(ids=(_OPTIMIZERS,), check=optimizers_in_turn),
    ScriptRule(ids=(_FROZEN,), check=frozen_wrapped, follows=True),
    ScriptRule(ids=(_BEHIND,), check=frozen_behind, follows=True),
)
