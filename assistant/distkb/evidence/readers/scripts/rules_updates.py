"""Training under DDP: updates that differ from rank to rank, parameters that change behind the wrapper."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import keyword, positional, receiver
from distkb.evidence.readers.scripts.collectives import TOGETHER
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last, shown, walk
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.things import Event, Thing

_PLATEAU, _RATE = "script.plateau-on-own-measure", "script.rate-by-rank"
_THAWED, _THAWED_IN_HOOK = "script.thawed-after-ddp", "script.thawed-in-hook"
_UNPREPARED = "script.optimizer-not-prepared"
_FROZEN, _FROZEN_FLAT = "script.frozen-after-ddp", "script.frozen-after-fsdp"
_LOADED, _CLIPPED = "script.loaded-by-one-after-ddp", "script.clipped-before-unscale"
_HOOKS = frozenset(
    {"on_train_epoch_start", "on_train_epoch_end", "on_train_batch_start", "on_train_batch_end", "training_step",
     "on_validation_epoch_end", "finetune_function", "on_epoch_begin", "on_epoch_end", "on_step_begin", "on_step_end",
     "on_evaluate", "compute_loss"}
)  # fmt: skip
"""What Lightning and the Trainer call while training goes on."""
RANK_OWN = frozenset({"measure", "batch", "part"})
_SENDS = frozenset({"broadcast", "broadcast_object_list", "_sync_module_states", "_sync_params_and_buffers"})
_ALL_WRAP = frozenset({kinds.DDP, kinds.FSDP1, kinds.FSDP2})


def _trains_together(job: ScriptContext) -> bool:
    return job.mentions("DistributedDataParallel", "fully_shard", "FullyShardedDataParallel", "Accelerator")


def plateau(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield steps of ReduceLROnPlateau by a number that every rank measures for itself."""
    if not job.mentions("ReduceLROnPlateau") or not _trains_together(job) or _some_read_all(job):
        return
    for function, call in job.calls():
        named = call.func
        if not isinstance(named, ast.Attribute) or named.attr != "step" or len(call.args) != 1:
            continue
        name = dotted(named.value)
        made = [
            job.project.single(named.value, function),
            *(a.value for a in job.project.walk(function).assignments if a.target == name),
        ]
        if not any(isinstance(one, ast.Call) and last(one.func) == "ReduceLROnPlateau" for one in made):
            continue
        given = dotted(call.args[0]) in function.parameters and not job.project.callers(function)
        own = next((r for r in job.origins.of(call.args[0], function) if r.origin in RANK_OWN), None)
        if own is not None and not given and not _is_agreed(call.args[0], function, job):
            yield hit(_PLATEAU, function, call, call=shown(call), measure=shown(call.args[0]))


def _some_read_all(job: ScriptContext) -> bool:
    """Whether any loader gives the whole data to every rank: what is measured on it is the same everywhere."""
    for _, call in job.calls():
        if last(call.func) == "DataLoader" and not {"sampler", "batch_sampler"} & {word.arg for word in call.keywords}:
            return True
    return False


def _is_agreed(node: ast.expr, function: Function, job: ScriptContext) -> bool:
    """Whether any collective of the function gets the number, or a name of which it is made."""
    named = {dotted(part) for part in nodes(node) if dotted(part)}
    for made in job.project.walk(function).assignments:
        if made.target in named:
            named |= {dotted(part) for part in nodes(made.value) if dotted(part)}
    for site in job.project.walk(function).sites:
        if any(need.category in TOGETHER for need in job.effects.of_call(site.node, function)):
            given = {dotted(part) for argument in site.node.args for part in nodes(argument)}
            if named & (given - {""}) or any(part is site.node for part in nodes(node)):
                return True
    return False


def rate_by_rank(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield learning rates and other settings of an optimizer that depend on the rank's number."""
    if not _trains_together(job):
        return
    for function, call in job.calls():
        if kinds.kind_of(call, function, job.project, call.lineno) != kinds.OPTIMIZER:
            continue
        for name in ("lr", "weight_decay", "momentum", "betas"):
            value = keyword(call, name)
            reasons = job.origins.of(value, function) if value is not None else []
            if value is not None and any(reason.origin == "rank" for reason in reasons):
                yield hit(_RATE, function, call, setting=f"{name}={shown(value)}")
                break


def frozen_late(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield parameters whose `requires_grad` is changed when DDP, or FSDP's wrapper class, has them already."""
    if not job.mentions("requires_grad", "requires_grad_"):
        return
    on_again = any(_is_switched_on(node) for script in job.project.scripts for node in script.nodes)
    for function in job.project.functions if not on_again else ():
        for owner, node, is_some in _switched(function):
            if not is_some and _is_whole(owner, function, job, node.lineno):
                continue
            kind = _wrapped_kind(owner, function, job, node.lineno)
            if kind == kinds.DDP and not _static(job):
                yield hit(_FROZEN, function, node, model=shown(owner))
                break
            if kind == kinds.FSDP1:
                yield hit(_FROZEN_FLAT, function, node, model=shown(owner))
                break


def thawed(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield parameters that are made trainable when DDP has left them out already, because they were frozen."""
    told: set[int] = set()
    for events in job.episodes:
        frozen: dict[int, Thing] = {}
        left_out: dict[int, int] = {}
        for event in events:
            if event.kind == "grad":
                for thing in event.things:
                    frozen.pop(id(thing), None)
                    if event.value is not True:
                        frozen[id(thing)] = thing
                    line = next((left_out[id(one)] for one in thing.wholes() if id(one) in left_out), 0)
                    if event.value is True and line and id(event.node) not in told and not _again(events, event):
                        told.add(id(event.node))
                        where, node = event.caller or (event.function, event.node)
                        yield hit(_THAWED, where, node, wrap_line=str(line))
            elif event.kind == "ddp":
                inside = {id(model) for thing in event.things for model in thing.models()}
                left_out = {key: line for key, line in left_out.items() if key not in inside}
                for thing in frozen.values():
                    if any(id(one) in inside for one in thing.wholes()):
                        left_out[id(thing)] = event.node.lineno


def thawed_in_hook(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield parameters that a hook makes trainable while training goes on: the trainer has wrapped the model before."""
    if not job.mentions("requires_grad", "requires_grad_") or not job.mentions("Trainer", "Seq2SeqTrainer"):
        return
    if job.mentions("FullyShardedDataParallel", "FSDPStrategy", "fully_shard", "deepspeed", "DeepSpeedStrategy"):
        return
    hooks = [one for one in job.project.functions if one.is_method and one.name.rpartition(".")[2] in _HOOKS]
    before = (one for one in job.project.functions if one not in hooks)
    frozen = {last(owner) for function in before for owner, _, _ in _switched(function)}
    for function in hooks:
        for owner, node, _ in _switched(function, to=True):
            if last(owner) in frozen:
                yield hit(_THAWED_IN_HOOK, function, node, model=shown(owner))
                break


def _again(events: list[Event], event: Event) -> bool:
    """Whether a model is wrapped once more behind a place."""
    return any(later.kind == "ddp" for later in events[events.index(event) + 1 :])


def unprepared(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield updates, where Accelerate accumulates gradients, by an optimizer that `prepare` never had."""
    told: set[int] = set()
    for events in job.episodes:
        prepared = any(event.kind == "prepare" for event in events)
        for event in events if prepared else ():
            done = event.things[0] if event.kind == "update" and event.value is True else None
            if done is not None and done.kind == "optimizer" and not done.prepared and id(event.node) not in told:
                told.add(id(event.node))
                yield hit(_UNPREPARED, event.function, event.node, call=shown(event.node))


def _static(job: ScriptContext) -> bool:
    """Whether a wrapping says that it looks for what has no gradient."""
    return job.mentions("find_unused_parameters", "static_graph")


def _is_switched_on(node: ast.AST) -> bool:
    """`requires_grad_()` or `requires_grad = True`, as where two models take turns, or a value that may be either."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "requires_grad_":
        return constant(positional(node, 0)) is not False
    if not isinstance(node, ast.Assign) or constant(node.value) is False:
        return False
    return any(isinstance(target, ast.Attribute) and target.attr == "requires_grad" for target in node.targets)


def _switched(function: Function, *, to: bool = False) -> Iterator[tuple[ast.expr, ast.expr, bool]]:
    """Yield the models whose parameters a function switches off or on, the place, and whether it chooses among them."""
    for node in walk(function.node):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "requires_grad_":
            if constant(positional(node, 0)) is to:
                yield node.func.value, node, False
        elif isinstance(node, ast.For):
            model = _parameters_of(node.iter)
            is_some = any(isinstance(part, (ast.If, ast.Continue)) for part in nodes(node))
            for part in nodes(node) if model is not None else ():
                if isinstance(part, ast.Assign) and constant(part.value) is to:
                    target = part.targets[0]
                    if model is not None and isinstance(target, ast.Attribute) and target.attr == "requires_grad":
                        yield model, target, is_some


def _is_whole(node: ast.expr, function: Function, job: ScriptContext, line: int) -> bool:
    """Whether an expression is all that was wrapped: `model` or `model.module`, and not `model.encoder`."""
    return last(node) == "module" or kinds.kind_of(node, function, job.project, line) in _ALL_WRAP


def _parameters_of(node: ast.expr) -> ast.expr | None:
    named = node.func if isinstance(node, ast.Call) else None
    names = {"parameters", "named_parameters"}
    return named.value if isinstance(named, ast.Attribute) and named.attr in names else None


def _wrapped_kind(node: ast.expr, function: Function, job: ScriptContext, line: int) -> str:
    """Return with what a model, or the one of which it is a part, was wrapped above a line."""
    here: ast.expr = node
    for _ in range(6):
        kind = kinds.kind_of(here, function, job.project, line)
        if kind in _ALL_WRAP:
            return kind
        if not isinstance(here, ast.Attribute):
            return ""
        here = here.value
    return ""


def loaded_by_one(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield weights that only some ranks load, in front of training, into a model that DDP gave to all ranks before."""
    if job.mentions(*_SENDS):
        return
    for function in job.project.functions:
        sites = [site for site in job.project.walk(function).sites if _loads(site)]
        for site in sites:
            owner = receiver(site.node) or site.node
            if site.where.side == "both" or site.where.guard is None or {s.where.side for s in sites} > {"main"}:
                continue
            wrapped = _wrapped_kind(owner, function, job, site.node.lineno) == kinds.DDP
            if wrapped and _trains_after(site.node.lineno, function, job):
                yield hit(_LOADED, function, site.node, model=shown(owner), test=shown(site.where.guard.node))


def _training(job: ScriptContext) -> set[int]:
    """Return the functions that make gradients, or run one that does, by identity."""
    left = [f for f in job.project.functions if job.project.walk(f).calls("backward")]
    found: set[int] = set()
    while left:
        function = left.pop()
        if id(function) not in found:
            found.add(id(function))
            left += [caller for caller, _ in job.project.callers(function)]
    return found


def _trains_after(line: int, function: Function, job: ScriptContext) -> bool:
    """Whether gradients are made below a line, or when the function has returned to who called it."""
    training, seen = _training(job), {id(function)}
    left = [(function, line)]
    for here, begin in left:
        for site in job.project.walk(here).sites:
            runs = job.project.target(site.node, here)
            if site.node.lineno > begin and (last(site.node.func) == "backward" or id(runs) in training):
                return True
        for caller, site in job.project.callers(here):
            if id(caller) not in seen:
                seen.add(id(caller))
                left.append((caller, site.node.lineno))
    return False


def _loads(site: Site) -> bool:
    return last(site.node.func) == "load_state_dict"


def clipped_first(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield clipping of gradients that a loss scaler has multiplied and that nothing has divided again."""
    for function in job.project.functions:
        sites = job.project.walk(function).sites
        named = [last(site.node.func) for site in sites]
        scaled = any(name == "backward" and is_scaled(site.node) for name, site in zip(named, sites, strict=True))
        steps = any(last(s.node.func) == "step" and s.node.args and _is_scaler(s.node) for s in sites)
        if not (scaled or steps) or "unscale_" in named or (not scaled and job.mentions("unscale_")):
            continue
        for site in sites:
            full = canonical(site.node.func, function.script)
            if full.startswith("torch.nn.utils.") and last(site.node.func).startswith("clip_grad_"):
                yield hit(_CLIPPED, function, site.node, call=shown(site.node.func))
                break


def _is_scaler(call: ast.Call) -> bool:
    """`scaler.step(optimizer)`."""
    return isinstance(call.func, ast.Attribute) and "scaler" in last(call.func.value).lower()


def is_scaled(call: ast.Call) -> bool:
    """`scaler.scale(loss).backward()`."""
    inner = receiver(call)
    return isinstance(inner, ast.Call) and last(inner.func) == "scale"


RULES = (
    ScriptRule(ids=(_PLATEAU,), check=plateau),
    ScriptRule(ids=(_RATE,), check=rate_by_rank),
    ScriptRule(ids=(_FROZEN, _FROZEN_FLAT), check=frozen_late),
    ScriptRule(ids=(_THAWED,), check=thawed, follows=True),
    ScriptRule(ids=(_THAWED_IN_HOOK,), check=thawed_in_hook),
    ScriptRule(ids=(_UNPREPARED,), check=unprepared, follows=True),
    ScriptRule(ids=(_LOADED,), check=loaded_by_one),
    ScriptRule(ids=(_CLIPPED,), check=clipped_first),
)
