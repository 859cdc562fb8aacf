"""What each rank gets of the data: epochs nobody sets, loaders nobody divides, one seed, padding, streams of parts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import argument, has_spread, keyword
from distkb.evidence.readers.scripts.blocks import LOOPS
from distkb.evidence.readers.scripts.definitions import Class, Function
from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import made_by, meanings
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last, names_in, shown, words
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.rules_unused import is_lightning_ddp

_EPOCH, _UNPREPARED, _PADDED = "script.epoch-never-set", "script.loader-not-prepared", "script.gathered-with-padding"
_SEED, _BY_RANK, _SIZE = "script.one-seed-for-all", "script.split-by-rank", "script.batch-size-by-rank"
_SHARDS, _DROPPED = "script.shards-without-length", "script.batch-may-be-dropped"
_ALONE = "script.logged-by-each-rank"
_EVALUATES = frozenset({"validation_step", "test_step"})
_DIVIDES = re.compile(r"(?i)rank|world|num_processes|process_index|replica|distributed|shard|by_node|sampler")
_RANKS = re.compile(r"(?i)rank|world|worker|process|shard")
_DRAWS = frozenset({"randn", "rand", "randint", "randperm", "normal", "uniform", "bernoulli", "multinomial", "choice",
                    "integers", "random", "standard_normal"})  # fmt: skip
_LENGTHS = (
    "with_epoch",
    "resampled",
    "repeat",
    "ddp_equalize",
    "with_length",
    "ResampledShards",
    "Join",
    "SimpleShardList",
)
_STEPS = frozenset({"training_step", "on_train_start", "on_fit_start", "setup"})


def epoch_never_set(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield samplers and data sets of the project's own that wait for `set_epoch`, which nobody calls."""
    managed = job.mentions("Accelerator", "Trainer", "lightning", "pytorch_lightning", "Fabric")
    if managed or job.mentions("set_epoch") or not job.is_parallel:
        return
    for function, call in job.calls():
        cls = job.project.class_named(call.func, function.script)
        if cls is not None and "set_epoch" in cls.methods and _draws_by_epoch(cls):
            yield hit(_EPOCH, function, call, call=f"{shown(call.func)}(…)", name=cls.name)
            return


def _draws_by_epoch(cls: Class) -> bool:
    """Whether a class makes its order of what `set_epoch` keeps."""
    setter, iterates = cls.methods["set_epoch"], cls.methods.get("__iter__")
    kept = {
        node.attr for node in nodes(setter.node) if isinstance(node, ast.Attribute) and dotted(node.value) == "self"
    }
    return iterates is not None and bool(kept & words(iterates.node))


def not_prepared(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield shuffling loaders, trained on with Accelerate's backward, that nothing prepared or divided."""
    if not job.mentions("Accelerator") or job.mentions("prepare_data_loader", "skip_first_batches", "device_placement"):
        return
    prepared = {word for function, call in job.calls() if last(call.func) == "prepare" for word in words(call)}
    for function, site in job.sites():
        named = site.node.func
        if not isinstance(named, ast.Attribute) or named.attr != "backward" or not site.where.loops:
            continue
        if kinds.kind_of(named.value, function, job.project, site.node.lineno) != kinds.ACCELERATOR:
            continue
        loop = site.where.loops[-1]
        over = loop.iter if isinstance(loop, (ast.For, ast.AsyncFor)) else None
        while isinstance(over, ast.Call) and last(over.func) in {"enumerate", "tqdm"} and over.args:
            over = over.args[0]
        if over is None or not dotted(over) or last(over) in prepared:
            continue
        for full, call, scope in made_by(over, function, job.project):
            plain = full.endswith("DataLoader") and constant(keyword(call, "shuffle")) is True
            names = {a.target for a in job.project.walk(scope).assignments if a.value is call}
            apart = {name.removeprefix("self.") for name in names} & prepared
            divided = any(_DIVIDES.search(w) for w in words(call)) or job.origins.depends(
                call.args[:1], scope, "rank", "part"
            )
            if plain and not apart and not has_spread(call) and not divided:
                yield hit(_UNPREPARED, scope, call, loader=shown(over))


def with_padding(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield predictions of a prepared loader that Accelerate gathers with the samples by which it filled up."""
    if not job.mentions("Accelerator") or job.mentions("gather_for_metrics", "even_batches", "remainder"):
        return
    for function in job.project.functions:
        quiet = bool({"no_grad", "inference_mode", "eval"} & words(function.node))
        for site in job.project.walk(function).sites:
            named = site.node.func
            if not isinstance(named, ast.Attribute) or named.attr != "gather" or not site.where.loops or not quiet:
                continue
            kind = kinds.kind_of(named.value, function, job.project, site.node.lineno)
            is_accelerator = kind == kinds.ACCELERATOR or (not kind and last(named.value) == "accelerator")
            told = re.search(r"(?i)pred|label|logit|ref|target|\by\b|argmax|answer", shown(site.node))
            trains = job.project.walk(function).calls("backward")
            cut = any(isinstance(part, ast.Slice) and part.upper is not None for part in nodes(function.node))
            in_loss = all(any(re.search(r"(?i)loss", word) for word in words(one)) for one in _gathered(site.node))
            if is_accelerator and told and not in_loss and not cut and not (trains and len(site.where.loops) < 2):
                yield hit(_PADDED, function, site.node, call=shown(site.node))
                break


def _gathered(call: ast.Call) -> list[ast.expr]:
    """Return what a gather is given, one by one."""
    given = call.args[0] if call.args else call
    return given.elts if isinstance(given, (ast.Tuple, ast.List)) else [given]


def one_seed(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield generators that every rank seeds with one number, and from which training draws its noise or its data."""
    if not job.is_parallel:
        return
    for function in job.project.functions:
        for site in job.project.walk(function).sites:
            seed = _seed(site.node, function)
            if seed is None or not _is_alike(seed, function, job):
                continue
            in_stream = function.name.endswith((".__iter__", ".__getitem__")) and not _knows_rank(function)
            if in_stream or _draws_in_step(site.node, function, job):
                yield hit(_SEED, function, site.node, call=shown(site.node), seed=shown(seed))
                break


def _seed(call: ast.Call, function: Function) -> ast.expr | None:
    """Return the number with which a generator of its own is seeded."""
    full = canonical(call.func, function.script)
    if full in {"numpy.random.default_rng", "numpy.random.RandomState", "random.Random"}:
        return call.args[0] if len(call.args) == 1 else None
    if isinstance(call.func, ast.Attribute) and call.func.attr == "manual_seed" and len(call.args) == 1:
        return call.args[0] if not full.startswith("torch.") and full != "torch.manual_seed" else None
    return None


def _is_alike(seed: ast.expr, function: Function, job: ScriptContext) -> bool:
    """Whether a seed is a number that is written out, wherever it may come from."""
    found = list(meanings(seed, function, job.project))
    return bool(found) and all(isinstance(value, ast.Constant) and isinstance(value.value, int) for value, _ in found)


def _knows_rank(function: Function) -> bool:
    owner = function.owner
    return any(_RANKS.search(word) for word in words(owner.node if owner is not None else function.node))


def _draws_in_step(call: ast.Call, function: Function, job: ScriptContext) -> bool:
    """Whether a step of training, of the same class, draws from the generator that a call seeds."""
    owner, named = function.owner, call.func
    if owner is None or not isinstance(named, ast.Attribute) or "training_step" not in owner.methods:
        return False
    name = dotted(named.value)
    if function.name.rpartition(".")[2] not in {*_STEPS, "__init__"} or _knows_rank(function):
        return False
    step = owner.methods["training_step"]
    drawn = (site.node for site in job.project.walk(step).sites if last(site.node.func) in _DRAWS)
    return any(given is not None and dotted(given) == name for one in drawn for given in [keyword(one, "generator")])


def by_rank(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield splits that each rank draws with a seed of its own, and loaders whose batches are as large as a rank's."""
    for function, call in job.calls() if job.is_parallel else ():
        full = canonical(call.func, function.script)
        if full.endswith("torch.utils.data.random_split"):
            given = argument(call, "generator", 2)
            if given is not None and _is_of_rank(given, function, job):
                yield hit(_BY_RANK, function, call, call=shown(call))
        elif full.endswith("utils.data.DataLoader"):
            size = argument(call, "batch_size", 1)
            if size is not None and job.origins.depends([size], function, "rank"):
                yield hit(_SIZE, function, call, size=shown(size))


def _is_of_rank(generator: ast.expr, function: Function, job: ScriptContext) -> bool:
    """Whether a generator was seeded with the rank's number."""
    for value, scope in meanings(generator, function, job.project):
        calls = [part for part in nodes(value) if isinstance(part, ast.Call) and last(part.func) == "manual_seed"]
        if job.origins.depends((given for one in calls for given in one.args), scope, "rank"):
            return True
    name = dotted(generator)
    seeded = (s.node for s in job.project.walk(function).sites if dotted(s.node.func) == f"{name}.manual_seed")
    return bool(name) and job.origins.depends((given for one in seeded for given in one.args), function, "rank")


def logged_alone(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield measures of validation that a LightningModule logs under DDP as its own rank has them."""
    if not is_lightning_ddp(job):
        return
    for function in job.project.functions:
        if function.name.rpartition(".")[2] not in _EVALUATES:
            continue
        for site in job.project.walk(function).sites:
            call = site.node
            logs = dotted(call.func) == "self.log" and len(call.args) > 1 and not has_spread(call)
            if not logs or keyword(call, "sync_dist") is not None or keyword(call, "rank_zero_only") is not None:
                continue
            origins = {reason.origin for reason in job.origins.of(call.args[1], function)}
            if (
                origins & {"batch", "measure"}
                and "agreed" not in origins
                and not _is_metric(call.args[1], function, job)
            ):
                yield hit(_ALONE, function, call, name=shown(call.args[0]))
                break


def _is_metric(value: ast.expr, function: Function, job: ScriptContext) -> bool:
    """Whether a value is, or comes out of, an object of torchmetrics, which brings its ranks together itself."""
    parts = (part for part in nodes(value) if isinstance(part, (ast.Name, ast.Attribute)))
    made = (full for part in parts for full, _, _ in made_by(part, function, job.project))
    return "compute" in words(value) or any(full.startswith("torchmetrics") for full in made)


def without_length(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield streams of WebDataset whose shards are dealt out, and whose epoch no number of batches ends."""
    if job.mentions(*_LENGTHS) or not job.is_parallel:
        return
    for function, call in job.calls():
        if last(call.func) in {"WebDataset", "split_by_node", "WebLoader"} and "split_by_node" in words(call):
            yield hit(_SHARDS, function, call, call=f"{shown(call.func)}(…)")
            return


def may_be_dropped(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield steps that a rank leaves out where its collate function gave back nothing."""
    if not job.is_parallel or not _gives_nothing(job):
        return
    told: set[int] = set()
    for function in job.project.functions:
        if not any(last(site.node.func) == "backward" for site in _reached(function, job)):
            continue
        for loop in (node for node in nodes(function.node) if isinstance(node, LOOPS)):
            taken = names_in(loop.target) if isinstance(loop, ast.For) else set()
            for node in loop.body:
                if (
                    isinstance(node, ast.If)
                    and isinstance(node.body[-1], ast.Continue)
                    and _is_nothing(node.test, taken)
                    and id(node) not in told
                ):
                    told.add(id(node))
                    yield hit(_DROPPED, function, node.test, test=shown(node.test))


def _reached(function: Function, job: ScriptContext) -> list[Site]:
    """Return the calls of a function and of those of the project that it calls."""
    own = job.project.walk(function).sites
    return [*own, *(inner for site in own for _, inner in job.project.below(site.node, function))]


def _is_nothing(test: ast.expr, taken: set[str]) -> bool:
    """`batch is None` or `not batch` of what a loop takes out."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return isinstance(test.operand, ast.Name) and test.operand.id in taken
    is_none = (
        isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is) and constant(test.comparators[0]) is None
    )
    return is_none and isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id in taken


def _gives_nothing(job: ScriptContext) -> bool:
    """Whether a loader has a collate function of the project's that may give back None."""
    for function, call in job.calls():
        given = keyword(call, "collate_fn")
        if given is None:
            continue
        target = job.project.referred(given, function)
        if target is None and isinstance(given, ast.Attribute) and function.owner is not None:
            target = job.project.method(function.owner, given.attr)
        for node in nodes(target.node) if target is not None else ():
            if isinstance(node, ast.Return) and any(constant(part) is None for part in _ends(node.value)):
                return True
    return False


def _ends(node: ast.expr | None) -> list[ast.expr | None]:
    return [node.body, node.orelse] if isinstance(node, ast.IfExp) else [node] if node is not None else []


RULES = (
    ScriptRule(ids=(_EPOCH,), check=epoch_never_set),
    ScriptRule(ids=(_UNPREPARED,), check=not_prepared),
    ScriptRule(ids=(_PADDED,), check=with_padding),
    ScriptRule(ids=(_SEED,), check=one_seed),
    ScriptRule(ids=(_BY_RANK, _SIZE), check=by_rank),
    ScriptRule(ids=(_ALONE,), check=logged_alone),
    ScriptRule(ids=(_SHARDS,), check=without_length),
    ScriptRule(ids=(_DROPPED,), check=may_be_dropped),
)
