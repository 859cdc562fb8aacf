"""How the data is divided: samplers, epochs, splits and slices by rank."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import argument, arguments, has_spread, keyword
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import LOOPED, Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last, shown, words
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.ranks import is_rank
from distkb.evidence.readers.scripts.rules_model import wrappings
from distkb.evidence.readers.scripts.splits import shuffled_parts

_ITS_OWN = frozenset({"rank", "part"})
"""What a data set depends on that is the rank's own part already."""
_EVALUATION = re.compile(r"(?i)val|test|eval|dev(?!ice)|infer|pred|query|gallery")
_EPOCH = re.compile(r"(?i)epoch")
_DIVIDES = (
    "DistributedSampler", "split_dataset_by_node", "num_replicas", "ElasticDistributedSampler", "shard",
    "StatefulDistributedSampler", "DistributedProxySampler", "IterableDataset", "webdataset", "WebLoader",
    "DistributedLengthGroupedSampler", "get_sampler", "batch_sampler", "BatchSampler", "Sampler",
    "split_between_processes",
)  # fmt: skip
"""Names that show that something else may divide the data."""
_DDP = frozenset(
    {
        "torch.nn.parallel.DistributedDataParallel",
        "torch.nn.parallel.distributed.DistributedDataParallel",
        "apex.parallel.DistributedDataParallel",
    }
)
_TENSOR = frozenset({"tp", "tensor", "tensor_parallel"})
"""Names of the dimension of a mesh whose ranks share each batch."""
_BY_RANK = re.compile(r"(?i)rank|world|replica|by_node|num_parts|part_id|shard_index|shard_id")
_READ_BY_ALL = ("dispatch_batches", "accelerator_config", "dataloader_config", "AcceleratorConfig")
_OTHER_DIMENSIONS = ("tensor_model_parallel_size", "init_device_mesh", "DeviceMesh", "parallelize_module")
"""Names that show that some ranks may need the same data."""
_MANAGED = frozenset({"lightning", "pytorch_lightning", "lightning_fabric", "accelerate", "ignite", "composer", "ray",
                      "mmengine", "fastai", "horovod", "catalyst"})  # fmt: skip
"""Libraries that call set_epoch, or divide the data, themselves."""


def _is_managed(function: Function) -> bool:
    roots = {target.partition(".")[0] for target in function.script.imports.values()}
    return bool(roots & _MANAGED)


def _loaders(job: ScriptContext) -> Iterator[tuple[Function, Site, str]]:
    """Yield every DataLoader that is made and given a name, with that name."""
    for function in job.project.functions:
        walk = job.project.walk(function)
        for site in walk.sites:
            full = canonical(site.node.func, function.script)
            if full in {"torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader"}:
                name = next((a.target for a in walk.assignments if a.value is site.node), "")
                yield function, site, name


def no_set_epoch(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield a shuffling DistributedSampler of training data in a script with epochs where nobody calls set_epoch."""
    if job.mentions("set_epoch"):
        return
    for function in job.project.functions:
        walk = job.project.walk(function)
        for made in walk.assignments:
            value = made.value.body if isinstance(made.value, ast.IfExp) else made.value
            if not isinstance(value, ast.Call) or _EVALUATION.search(made.target) or _is_managed(function):
                continue
            full = canonical(value.func, function.script)
            if not full.endswith(".DistributedSampler") or not full.startswith("torch.") or has_spread(value):
                continue
            shuffle = argument(value, "shuffle", 3)
            if shuffle is not None and constant(shuffle) is not True:
                continue
            if any(_EVALUATION.search(word) for word in words(value)) or not _has_epochs(function, job):
                continue
            if _is_handed_on(made.target, function, job):
                continue
            yield hit("script.no-set-epoch", function, value, sampler=made.target)


def _is_handed_on(sampler: str, function: Function, job: ScriptContext) -> bool:
    """Whether a function that is not among the scripts gets the sampler, and may call set_epoch."""
    for site in job.project.walk(function).sites:
        given = arguments(site.node)
        if any(dotted(argument) == sampler for argument in given):
            known = job.project.target(site.node, function) is not None
            if not known and not last(site.node.func).endswith(("DataLoader", "Loader", "BatchSampler", "len")):
                return True
    return any(
        sampler in words(value) and not isinstance(value, ast.Call) for value, _ in job.project.walk(function).returns
    )


def _has_epochs(function: Function, job: ScriptContext) -> bool:
    """Whether the file, or one that uses it, has a loop over epochs that goes through data."""
    using = {id(caller.script) for caller, _ in job.project.callers(function)} | {id(function.script)}
    for other in job.project.functions:
        if id(other.script) not in using:
            continue
        loops = (
            node for node in nodes(other.node) if isinstance(node, ast.While) and isinstance(node.test, ast.Compare)
        )
        if any(_EPOCH.search(word) for loop in loops for word in words(loop.test)):
            return True
        for found in job.project.walk(other).assignments:
            if found.index == LOOPED and _EPOCH.search(found.target) and isinstance(found.value, ast.Call):
                bounds = [constant(argument) for argument in found.value.args]
                if last(found.value.func) in {"range", "trange"} and bounds not in ([1], [0, 1], [1, 2]):
                    return True
    return False


def no_sampler(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield a shuffling loader of training data under DDP where nothing divides the data over the ranks."""
    if job.mentions(*_DIVIDES):
        return
    if job.mentions(*_OTHER_DIMENSIONS):
        return
    wrapped = {
        id(function.script)
        for function, site in job.sites()
        if site.where.certain and canonical(site.node.func, function.script) in _DDP
    }
    for function, site, name in _loaders(job):
        call = site.node
        if id(function.script) not in wrapped or not site.where.certain or _is_managed(function) or has_spread(call):
            continue
        if not _shuffles(call, function, job) or keyword(call, "sampler") is not None:
            continue
        mentioned = words(call)
        by_rank = any("rank" in word.lower() or "world" in word.lower() for word in mentioned)
        by_rank = by_rank or job.origins.depends(call.args[:1], function, *_ITS_OWN)
        if not by_rank and not any(_EVALUATION.search(word) for word in (*mentioned, name)):
            yield hit("script.no-distributed-sampler", function, call, loader=name or "DataLoader")


def _shuffles(call: ast.Call, function: Function, job: ScriptContext) -> bool:
    """Whether a loader draws in another order each time, be it that a caller of its function says so."""
    shuffle = keyword(call, "shuffle")
    if isinstance(shuffle, ast.Name) and shuffle.id in function.parameters:
        return any(constant(value) is True for value, _ in job.project.given(shuffle.id, function))
    return constant(shuffle) is True


def sampler_and_shuffle(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield loaders that are given a DistributedSampler and shuffle=True, which DataLoader refuses."""
    for function, site, _ in _loaders(job):
        sampler = keyword(site.node, "sampler")
        if sampler is None or constant(keyword(site.node, "shuffle")) is not True or not site.where.certain:
            continue
        if kinds.kind_of(sampler, function, job.project, site.node.lineno) == kinds.SAMPLER:
            yield hit("script.sampler-and-shuffle", function, site.node, sampler=shown(sampler))


def split_without_seed(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield random_split that draws another split on every rank."""
    if not job.draws_differ:
        return
    several = _is_several(job)
    seeded = job.mentions("seed_everything", "manual_seed", "seed", "set_seed")
    for function in job.project.functions:
        managed = _is_managed(function) and not job.mentions("accelerate")
        in_model = function.owner is not None and "forward" in function.owner.methods
        if (seeded or not managed) and (managed or several) and not in_model and not _BY_STEP.search(function.name):
            yield from _drawn_parts(function, job)
            yield from shuffled_parts(function, job)
        if managed:
            continue
        for site in job.project.walk(function).sites:
            full = canonical(site.node.func, function.script)
            if full not in {"torch.utils.data.random_split", "torch.utils.data.dataset.random_split"}:
                continue
            if keyword(site.node, "generator") is None and len(site.node.args) < 3 and several:
                yield hit("script.split-without-seed", function, site.node, call=shown(site.node))


def _drawn_parts(function: Function, job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield random numbers by which a function chooses which of the data it takes."""
    walk = job.project.walk(function)
    taken = [node for node in nodes(function.node) if isinstance(node, ast.Subscript)]
    chosen = {name for node in taken if isinstance(node.ctx, ast.Load) for name in words(node.slice)}
    chosen |= {name for site in walk.sites if last(site.node.func) == "Subset" for name in words(site.node)}
    # What says where something is written hides or replaces parts of a batch, and divides nothing.
    chosen -= {name for node in taken if isinstance(node.ctx, ast.Store) for name in words(node.slice)}
    for made in walk.assignments:
        calls = [node for node in nodes(made.value) if isinstance(node, ast.Call)]
        drawn = next((call for call in calls if canonical(call.func, function.script) in _DRAWS), None)
        alike = any(keyword(call, "generator") is not None for call in calls)
        if drawn is not None and not alike and not made.where.loops and made.target in chosen:
            yield hit("script.split-without-seed", function, drawn, call=shown(drawn))


_BY_STEP = re.compile(r"(?i)forward|step|__getitem__|__iter__|collate|augment|mask|sample|noise|corrupt|transform|mix")
"""Functions that draw anew for each batch, as they should."""
_DRAWS = frozenset({
    "numpy.random.rand", "numpy.random.random", "numpy.random.permutation", "numpy.random.choice", "torch.randperm",
    "torch.rand", "random.sample",
})  # fmt: skip


def _is_several(job: ScriptContext) -> bool:
    """Whether the project wraps a model for several ranks."""
    return any(
        canonical(call.func, function.script).endswith(("DistributedDataParallel", "FullyShardedDataParallel"))
        for function, call in job.calls()
    )


def slice_by_rank(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield training on `data[rank::world_size]`: the slices differ in length, and so do the steps."""
    for function in job.project.functions:
        walk = job.project.walk(function)
        trained = _trained_on(function, job)
        for made in walk.assignments:
            if made.target in trained and made.index is None and _is_slice(made.value, function, job):
                yield hit("script.slice-by-rank", function, made.value, data=made.target, slice=shown(made.value))


def _is_slice(node: ast.expr, function: Function, job: ScriptContext) -> bool:
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Slice):
        return False
    lower, step = node.slice.lower, node.slice.step
    return (
        lower is not None
        and step is not None
        and is_rank(lower, lambda n: job.project.single(n, function))
        and node.slice.upper is None
        and constant(step) != 1
    )


def _trained_on(function: Function, job: ScriptContext) -> set[str]:
    """Return the names that feed a loop with a backward in it: gone through directly, or through a loader."""
    names: set[str] = set()
    walk = job.project.walk(function)
    for site in walk.sites:
        if last(site.node.func) != "backward" or not site.where.loops:
            continue
        loop = site.where.loops[-1]
        if isinstance(loop, (ast.For, ast.AsyncFor)):
            names |= words(loop.iter)
    for made in walk.assignments:
        if made.target in names and isinstance(made.value, ast.Call) and last(made.value.func) == "DataLoader":
            names |= {dotted(argument) for argument in made.value.args[:1]}
    return names


def over_world(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield samplers that divide over all ranks where some of them work on the same batch together."""
    if not job.mentions("parallelize_module") and not _has_tensor_dimension(job):
        return
    told: set[int] = set()
    for event in job.events("sampler"):
        if event.value is True and id(event.node) not in told:
            told.add(id(event.node))
            yield hit("script.sampler-over-world", event.function, event.node, call=shown(event.node))


def _has_tensor_dimension(job: ScriptContext) -> bool:
    named = (
        keyword(call, "mesh_dim_names")
        for function, call in job.calls()
        if last(call.func) in {"init_device_mesh", "DeviceMesh"}
    )
    return any(names is not None and words(names) & _TENSOR for names in named)


def stream_undivided(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield streams that every worker takes a part of, and every rank the whole, where DDP trains on them."""
    if next(wrappings(job), None) is None or job.mentions(*_MANAGED, "split_dataset_by_node"):
        return
    for function in job.project.functions:
        owner = function.owner
        if owner is None or "IterableDataset" not in {last(base) for base in owner.node.bases}:
            continue
        for site in job.project.walk(function).sites:
            if last(site.node.func) != "get_worker_info":
                continue
            said = words(owner.node) | {word for call in _made(owner.name, job) for word in words(call)}
            if not any(_BY_RANK.search(word) for word in said):
                yield hit("script.stream-not-divided", function, site.node, data=owner.name)


def stream_by_rank(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield streams that are a rank's own part, where Accelerate reads only the first rank's and sends it to all."""
    if not job.mentions("Accelerator", "Trainer") or job.mentions(*_READ_BY_ALL) or not job.mentions("IterableDataset"):
        return
    names = {c.name for f in job.project.functions if (c := f.owner) and "IterableDataset" in map(last, c.node.bases)}
    for function, call in job.calls() if not job.mentions("lightning", "pytorch_lightning") else ():
        if last(call.func) in names and any(_is_own(argument, function, job) for argument in call.args):
            yield hit("script.stream-by-rank", function, call, data=last(call.func))


def _is_own(node: ast.expr, function: Function, job: ScriptContext) -> bool:
    """Whether something is taken from data by the rank's number."""
    value = job.project.single(node, function) if dotted(node) else node
    return value is not None and any(
        isinstance(part, ast.Subscript) and job.origins.depends([part.slice], function, "rank") for part in nodes(value)
    )


def _made(name: str, job: ScriptContext) -> Iterator[ast.Call]:
    for function in job.project.functions:
        yield from (site.node for site in job.project.walk(function).sites if last(site.node.func) == name)


RULES = (
    ScriptRule(ids=("script.stream-by-rank",), check=stream_by_rank),
    ScriptRule(ids=("script.sampler-over-world",), check=over_world, follows=True),
    ScriptRule(ids=("script.stream-not-divided",), check=stream_undivided),
    ScriptRule(ids=("script.no-set-epoch",), check=no_set_epoch),
    ScriptRule(ids=("script.no-distributed-sampler",), check=no_sampler),
    ScriptRule(ids=("script.sampler-and-shuffle",), check=sampler_and_shuffle),
    ScriptRule(ids=("script.split-without-seed",), check=split_without_seed),
    ScriptRule(ids=("script.slice-by-rank",), check=slice_by_rank),
)
