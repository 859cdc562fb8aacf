"""Data that is divided over the ranks twice: by hand and by a sampler, by a sampler and by a framework."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

import msgspec

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import arguments, keyword
from distkb.evidence.readers.scripts.definitions import Class, Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last, shown, words
from distkb.evidence.readers.scripts.ranks import is_rank

_TWICE = "script.divided-twice"
_STREAMS = ("IterableDataset", "streaming", "to_iterable_dataset", "IterDataPipe", "WebDataset", "webdataset")
"""Names of data that has no length, which frameworks divide otherwise or not at all."""
_LOADER = re.compile(r"(?i)loader|_dl$|^dl_?|data")
_LOADERS = frozenset({"torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader"})
_HOOKS = frozenset({"train_dataloader", "val_dataloader", "test_dataloader", "predict_dataloader"})
_OFF = ("use_distributed_sampler", "replace_sampler_ddp")
"""Arguments of Lightning's trainer by which it leaves the samplers as they are (since 2.0, and before)."""
_PARTS = re.compile(r"(?i)local|node|group|tp_|sp_|cp_|mesh")
"""Words of a sampler that divides over some of the ranks only."""
_PLACES = re.compile(r"(?i)node|group|tp_|sp_|cp_|mesh")
"""Words of a rank that counts something else than the processes."""
_SPLITS = frozenset({"array_split", "split", "chunk", "chunks", "tensor_split"})
_MOST, _DEPTH = 4, 7
_Place = tuple[ast.expr, Function]


def divided_twice(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield data that each rank has a part of already where something divides it once more."""
    told: set[int] = set()
    for function, call in job.calls():
        for found in _divided(call, function, job):
            if id(call) not in told:
                told.add(id(call))
                yield found


def _divided(call: ast.Call, function: Function, job: ScriptContext) -> Iterator[ScriptFinding]:
    name, full = last(call.func), canonical(call.func, function.script)
    if name in {"prepare", "prepare_data_loader", "setup_dataloaders"} and isinstance(call.func, ast.Attribute):
        yield from _prepared(call, call.func, function, job)
    elif name == "DistributedSampler" and "." in full and call.args and not _is_of_some(call):
        yield from _shared((call.args[0], function), "DistributedSampler", call, function, job)
    elif full in _LOADERS and _is_lightnings(function, job):
        yield from _unless_sampled(call, function, "lightning.Trainer", call, function, job)
    elif name == "fit" and kinds.kind_of(getattr(call.func, "value", None), function, job.project) == kinds.PL_TRAINER:
        for given in (*call.args[1:], *(w.value for w in call.keywords if "dataloader" in (w.arg or ""))):
            for loader, scope in _made(given, function, job) if _divides(job) else ():
                yield from _unless_sampled(loader, scope, "lightning.Trainer", call, function, job)
    elif kinds.kind_of(call, function, job.project) == kinds.HF_TRAINER and not job.mentions("get_train_dataloader"):
        data = keyword(call, "train_dataset")
        yield from _shared((data, function), "transformers.Trainer", call, function, job) if data is not None else ()


def _prepared(call: ast.Call, method: ast.Attribute, function: Function, job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield loaders that Accelerate or Fabric gets, whose sampler or data has been divided."""
    kind = kinds.kind_of(method.value, function, job.project, call.lineno)
    if kind not in {kinds.ACCELERATOR, kinds.FABRIC} or keyword(call, "use_distributed_sampler") is not None:
        return
    for given in call.args:
        for loader, scope in _made(given, function, job):
            if not isinstance(loader, ast.Call):
                continue
            sampler = keyword(loader, "sampler")
            if sampler is not None and kinds.kind_of(sampler, scope, job.project, call.lineno) == kinds.SAMPLER:
                if kind == kinds.ACCELERATOR:  # Fabric leaves such a sampler as it is
                    yield _hit(call, given, sampler, dotted(method), function)
            elif canonical(loader.func, scope.script) in _LOADERS or _LOADER.search(dotted(given)):
                yield from _shared((loader, scope), dotted(method), call, function, job, given)


def _made(node: ast.expr, function: Function, job: ScriptContext) -> list[_Place]:
    """Return the expressions that an argument stands for: the last given to its name, or what a function returns."""
    if not isinstance(node, (ast.Name, ast.Attribute)):
        return [(node, function)]
    return job.project.stands_for(node, function)[:_MOST]


def _unless_sampled(
    loader: ast.expr, scope: Function, again: str, call: ast.Call, function: Function, job: ScriptContext
) -> Iterator[ScriptFinding]:
    """Yield a loader of a part of the data; Lightning leaves a DistributedSampler that it finds as it is."""
    if not isinstance(loader, ast.Call) or keyword(loader, "batch_sampler") is not None:
        return
    sampler = keyword(loader, "sampler")
    if sampler is None or kinds.kind_of(sampler, scope, job.project) != kinds.SAMPLER:
        yield from _shared((loader, scope), again, call, function, job)


def _shared(
    data: _Place, again: str, call: ast.Call, function: Function, job: ScriptContext, named: ast.expr | None = None
) -> Iterator[ScriptFinding]:
    if job.mentions(*_STREAMS):
        return
    share = next(_shares(data[0], data[1], job), None)
    if share is not None:
        found = _hit(call, named or _data_of(data[0]), share[0], again, function)
        yield msgspec.structs.replace(found, more=((share[1].script, share[0].lineno),))


def _hit(call: ast.Call, loader: ast.expr, share: ast.expr, again: str, function: Function) -> ScriptFinding:
    return hit(_TWICE, function, call, loader=shown(loader), sampler=shown(share), again=again)


def _data_of(node: ast.expr) -> ast.expr:
    """Return the data set of a loader."""
    if isinstance(node, ast.Call) and last(node.func) == "DataLoader":
        return keyword(node, "dataset") or next(iter(node.args), node)
    return node


def _is_of_some(call: ast.Call) -> bool:
    """Whether a sampler divides over some of the ranks only."""
    given = [*call.args[1:3], *(w.value for w in call.keywords if w.arg in {"num_replicas", "rank"})]
    said = {word for one in given for word in words(one)}
    return any(_PARTS.search(word) for word in said) or any(isinstance(one, ast.Constant) for one in given)


def _is_lightnings(function: Function, job: ScriptContext) -> bool:
    """Whether a loader is made in a hook of Lightning, whose trainer puts a DistributedSampler into it."""
    return function.owner is not None and function.name.rpartition(".")[2] in _HOOKS and _divides(job)


def _divides(job: ScriptContext) -> bool:
    """Whether every trainer of Lightning that is made divides the data over several ranks."""
    made = [
        site.node
        for function in (job.project.functions if job.mentions("lightning", "pytorch_lightning") else ())
        for site in job.project.walk(function).sites
        if kinds.kind_of(site.node, function, job.project) == kinds.PL_TRAINER
    ]
    off = any(constant(keyword(call, name)) is False for call in made for name in _OFF)
    spread = any(word.arg is None for call in made for word in call.keywords)
    alone = all(constant(keyword(call, "devices")) in (1, "1") for call in made)
    return bool(made) and not off and not spread and not alone


def _shares(
    node: ast.expr, function: Function, job: ScriptContext, entered: tuple[Function, ...] = (), depth: int = 0
) -> Iterator[_Place]:
    """Yield the expressions in what data is made of that take a rank's own part.

    Of a function that is followed from a call the arguments are that call's, which are looked at there.
    """
    if depth > _DEPTH:
        return
    if _is_share(node, function, job):
        yield node, function
        return
    is_given = isinstance(node, ast.Name) and node.id in function.parameters and function in entered
    for inside, scope in () if is_given else _behind(node, function, job):
        inner = entered if scope is function else (*entered, scope)
        yield from _shares(inside, scope, job, inner if isinstance(node, ast.Call) else entered, depth + 1)


def _behind(node: ast.expr, function: Function, job: ScriptContext) -> Iterable[_Place]:
    """Return what an expression of data is made of."""
    match node:
        case ast.Name() | ast.Attribute():
            return _made(node, function, job)
        case ast.Subscript(value=value):
            return [(value, function)]
        case ast.IfExp(body=body, orelse=orelse):
            return [(body, function), (orelse, function)]
        case ast.ListComp(elt=made, generators=[one, *_]) | ast.GeneratorExp(elt=made, generators=[one, *_]):
            return [(one.iter, function), (made, function)]
        case ast.Call():
            return _behind_call(node, function, job)
    return []


def _behind_call(call: ast.Call, function: Function, job: ScriptContext) -> Iterable[_Place]:
    if canonical(call.func, function.script) in _LOADERS:
        return [(_data_of(call), function)] if _data_of(call) is not call else []
    given = [(one, function) for one in arguments(call)][:_MOST]
    owner = job.project.class_named(call.func, function.script)
    if owner is not None:
        return [*given, *_kept(owner, job)]
    if job.project.target(call, function) is not None:
        return [*given, *job.project.returned(call, function)]
    receiver = [(call.func.value, function)] if isinstance(call.func, ast.Attribute) else []
    return [*receiver, *given]


def _kept(owner: Class, job: ScriptContext) -> Iterator[_Place]:
    """Yield what the constructor of a data set puts into its attributes."""
    method = owner.methods.get("__init__")
    for made in job.project.walk(method).assignments if method is not None else ():
        if made.target.startswith("self.") and method is not None:
            yield made.value, method


def _is_share(node: ast.expr, function: Function, job: ScriptContext) -> bool:
    """Whether an expression takes a part of something by the rank's number."""
    match node:
        case ast.Subscript(slice=ast.Slice(lower=lower, step=step)) if lower is not None and step is not None:
            return _is_own(lower, function, job) and not isinstance(step, ast.Constant)
        case ast.Subscript(slice=ast.Slice(lower=lower, upper=upper)) if lower is not None and upper is not None:
            begins = job.project.single(lower, function) or lower
            terms = (begins.left, begins.right) if isinstance(begins, ast.BinOp) else ()
            return any(_is_own(part, function, job) for part in terms)
        case ast.Subscript(value=ast.Call(func=func), slice=index):
            return last(func) in _SPLITS and _is_own(index, function, job)
        case ast.ListComp(generators=[one]) | ast.GeneratorExp(generators=[one]):
            return any(_counts_off(test, function, job) for test in one.ifs)
        case ast.Call(func=func, args=args):
            return _takes(last(func), args, node, function, job)
    return False


def _takes(name: str, args: list[ast.expr], call: ast.Call, function: Function, job: ScriptContext) -> bool:
    """Whether a call takes a rank's own part: `range(rank, n, world)`, `islice(…)`, `data.shard(…)`."""
    if name == "range":
        return len(args) == 3 and _is_own(args[0], function, job) and not isinstance(args[2], ast.Constant)
    if name == "islice":
        return len(args) == 4 and _is_own(args[1], function, job)
    if name in {"shard", "split_dataset_by_node"}:
        given = [keyword(call, "index"), keyword(call, "rank"), *args]
        return any(one is not None and _is_own(one, function, job) for one in given)
    return False


def _counts_off(test: ast.expr, function: Function, job: ScriptContext) -> bool:
    """Whether this is `i % world == rank`."""
    match test:
        case ast.Compare(left=ast.BinOp(op=ast.Mod()), ops=[ast.Eq()], comparators=[rank]):
            return _is_own(rank, function, job)
        case ast.Compare(left=rank, ops=[ast.Eq()], comparators=[ast.BinOp(op=ast.Mod())]):
            return _is_own(rank, function, job)
    return False


def _is_own(node: ast.expr, function: Function, job: ScriptContext) -> bool:
    """Whether an expression is the rank's number, and not a number that all callers write out."""
    if any(_PLACES.search(word) for word in words(node)):
        return False
    if isinstance(node, ast.Name) and node.id in function.parameters:
        given = [value for value, _ in job.project.given(node.id, function)]
        if given and all(isinstance(value, ast.Constant) for value in given):
            return False
    return is_rank(node, lambda name: job.project.single(name, function))


RULES = (ScriptRule(ids=(_TWICE,), check=divided_twice),)
