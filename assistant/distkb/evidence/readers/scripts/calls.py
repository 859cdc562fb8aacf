"""What calls of libraries do to the things that they get: wrap, shard, prepare, freeze, update, make a path."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from distkb.evidence.readers.scripts.arguments import has_spread
from distkb.evidence.readers.scripts.names import canonical, last, words
from distkb.evidence.readers.scripts.things import OF_ITS_OWN, EventKind, Mark, Thing

if TYPE_CHECKING:
    from distkb.evidence.readers.scripts.definitions import Function
    from distkb.evidence.readers.scripts.interpreter import Interpreter

_ITSELF = frozenset({"to", "cuda", "cpu", "train", "eval", "half", "bfloat16", "float", "resolve", "absolute",
                     "expanduser", "strip", "lower", "with_suffix"})  # fmt: skip
"""Methods that give back the object, or one of the same origin."""
_KEEPS = frozenset({"list", "tuple", "iter", "enumerate", "reversed", "dict", "zip", "chain", "filter", "fromkeys"})
_VIEWS = frozenset({"keys", "values", "items", "union", "intersection", "difference", "symmetric_difference", "copy"})
_SETS = frozenset({"set", "frozenset"})
_TEXT = frozenset({"str", "Path", "PurePath", "PosixPath", "join", "joinpath", "format", "abspath", "realpath", "int",
                   "float", "max", "min", "round", "ceil", "fspath", "hexdigest", "abs"})  # fmt: skip
"""Calls that make a text, a path or a number of what they get."""
_PARAMETERS = frozenset({"parameters", "named_parameters", "modules", "named_modules", "children", "named_children"})
_CLOCK = ("datetime.now", "datetime.utcnow", "time.strftime", "time.time", "time.time_ns", "time.localtime")
_RANDOM = ("uuid.uuid4", "uuid.uuid1", "secrets.token_hex", "secrets.token_urlsafe", "secrets.randbelow")
_DRAWS = ("random.choice", "random.choices", "random.randint", "random.randrange", "random.getrandbits",
          "random.random", "random.sample")  # fmt: skip
_LAYERS = frozenset({"Linear", "Embedding", "Parameter", "Conv2d", "Conv1d", "LayerNorm"})
_FINE = re.compile(r"%[SMfscTXNr]")
"""Parts of a format of time that are finer than an hour."""
_NUMBERS = frozenset({"range", "int", "len"})
_MOST_HELD = 24


class Call(msgspec.Struct, frozen=True):
    """A call with what its parts stand for."""

    machine: Interpreter
    node: ast.Call
    function: Function
    owner: Thing | None
    """Of which it is a method."""
    given: list[Thing]
    words: dict[str, Thing]

    @property
    def name(self) -> str:
        """Last part of what is called, under the name that its module gives it."""
        return canonical(self.node.func, self.function.script).rpartition(".")[2] or last(self.node.func)

    def note(self, kind: EventKind, *things: Thing, value: object = None, source: ast.expr | None = None) -> None:
        """Note what it does."""
        self.machine.note(kind, self.function, self.node, *things, value=value, source=source)


def from_library(call: Call) -> Thing:
    """Return what a call gives that runs no function of the project, and note what it does."""
    handler = _HANDLERS.get(call.name)
    found = None if handler is None else handler(call)
    return found or _origin(call) or _derived(call)


def _origin(call: Call) -> Thing | None:
    """Return what is made of nothing: a reading of the clock, a draw, an optimizer."""
    full = canonical(call.node.func, call.function.script)
    if full.startswith("torch.optim."):
        return _optimizer(call)
    if full.startswith("torch.nn.") and call.name in _LAYERS:
        return Thing(kind="layer")
    if full.endswith(_CLOCK):
        return Thing(marks={"clock": call.node})
    drawn = full.startswith(("random.", "numpy.random.")) and full.endswith(_DRAWS) and call.machine.job.draws_differ
    return Thing(marks={"own": call.node}) if drawn or full.endswith(_RANDOM) else None


def _derived(call: Call) -> Thing:
    """Return what is made of what a call gets: a view, a container, a text."""
    owner, every = call.owner, [*call.given, *call.words.values()]
    if owner is not None and call.name in _PARAMETERS | _ITSELF:
        return owner if call.name in _ITSELF else Thing(kind="parameters", holds=[owner])
    if call.name in _SETS:
        return Thing(holds=every, marks={} if words(call.node) & _NUMBERS else {"unordered": call.node})
    if call.name in _KEEPS or (owner is not None and call.name in _VIEWS):
        return _kept(every if owner is None or call.name in _KEEPS else [owner, *every])
    whose = every if owner is None else [*every, owner]
    if call.name in _TEXT or (owner is not None and _is_own(owner)):
        return Thing(marks=_marks(whose))
    return Thing(holds=[thing for thing in every if thing.kind == "parameters"])


def _is_own(thing: Thing) -> bool:
    return any(mark in thing.marks for mark in OF_ITS_OWN)


def _marks(things: list[Thing]) -> dict[Mark, ast.expr]:
    every = [one for thing in things for one in (thing, *(thing.items or ()))]
    return {mark: source for one in every for mark, source in one.marks.items() if mark != "unordered"}


def _kept(things: list[Thing]) -> Thing:
    """Return a container of what others hold, in their order."""
    source = next((thing.marks["unordered"] for thing in things if "unordered" in thing.marks), None)
    items = things[0].items if len(things) == 1 else None
    return Thing(items=items, holds=things, marks={} if source is None else {"unordered": source})


def _optimizer(call: Call) -> Thing:
    if "lr_scheduler" in canonical(call.node.func, call.function.script):
        return _scheduler(call)
    if not call.name[:1].isupper():
        return Thing()
    models = [model for thing in (call.given[:1] or list(call.words.values())[:1]) for model in thing.models()]
    made = Thing(kind="optimizer", holds=models)
    call.note("optimizer", made, *models)
    return made


def _scheduler(call: Call) -> Thing:
    source = _marks([*call.given, *call.words.values()]).get("per-process")
    return Thing(kind="scheduler", marks={} if source is None else {"per-process": source})


def _wrap(call: Call) -> Thing:
    model = call.given[0] if call.given else call.words.get("module", Thing())
    keeps = call.words.get("use_orig_params", Thing(value=False)).value is not False
    if call.name == "DistributedDataParallel" or not keeps:
        call.note("ddp" if call.name == "DistributedDataParallel" else "shard", model)
    return Thing(kind="wrapped", holds=[model], parts={"module": model}, prepared=model.prepared)


def _shard(call: Call) -> Thing | None:
    if not call.given or "." not in canonical(call.node.func, call.function.script):
        return None
    call.note("shard", call.given[0])
    return call.given[0]


def _prepare(call: Call) -> Thing | None:
    """Accelerate's: what it is given comes back, a model wrapped."""
    if call.owner is None or not call.machine.job.mentions("Accelerator"):
        return None
    call.note("prepare", *call.given)
    for thing in call.given:
        thing.prepared = True
        if thing.cls is not None and not thing.kind:
            call.note("ddp", thing)
    return call.given[0] if len(call.given) == 1 else Thing(items=list(call.given))


def _set_up(call: Call) -> Thing | None:
    """Fabric's: the strategy for parallel models runs the function that shards."""
    if call.owner is None or not call.given or not call.machine.job.mentions("ModelParallelStrategy"):
        return None
    call.note("shard", call.given[0])
    wrapped = Thing(kind="wrapped", holds=[call.given[0]], parts={"module": call.given[0]})
    return wrapped if len(call.given) == 1 else Thing(items=[wrapped, *call.given[1:]])


def _requires_grad(call: Call) -> Thing | None:
    if call.owner is None:
        return None
    told = call.given[0] if call.given else call.words.get("requires_grad", Thing(value=True))
    call.note("grad", *call.owner.models(), value=told.value if isinstance(told.value, bool) else None)
    return call.owner


def _length(call: Call) -> Thing:
    return Thing(marks={"per-process": call.node} if call.given and call.given[0].prepared else {})


def _shared(call: Call) -> Thing:
    """All processes have the same afterwards."""
    for thing in call.given[:1]:
        for mark in OF_ITS_OWN:
            thing.marks.pop(mark, None)
        if thing.items is not None:
            thing.items[:] = [Thing() if _is_own(item) else item for item in thing.items]
    return Thing()


def _clock_text(call: Call) -> Thing | None:
    """A time of day as text is the same everywhere where it shows no more than the hour."""
    texts = [thing.value for thing in call.given if isinstance(thing.value, str)]
    return Thing() if texts and not any(_FINE.search(text) for text in texts) else None


def _directory(call: Call) -> None:
    path = call.owner if call.name == "mkdir" and not call.given else next(iter(call.given), call.words.get("name"))
    _at_path(call, path)


def _output(call: Call) -> None:
    named = ("output_dir", "default_root_dir", "checkpoint_id")
    path = next((call.words[word] for word in named if word in call.words), None)
    _at_path(call, path or (call.given[0] if call.given and call.name.endswith("Arguments") else None))


def _at_path(call: Call, path: Thing | None) -> None:
    source = None if path is None else path.marks.get("own", path.marks.get("clock"))
    if path is not None and source is not None:
        call.note("path", path, source=source)


def _append(call: Call) -> None:
    owner = call.owner
    if owner is not None:
        owner.filled(call.machine.order)
    if owner is not None and call.given and call.given[0] is not owner and len(owner.holds) < _MOST_HELD:
        owner.holds += [thing for thing in call.given[:1] if not thing.is_plain]


def _dictionary(call: Call) -> Thing | None:
    """A dictionary with nothing in it: `defaultdict` is told at most what a new key is given."""
    return (
        Thing(kind="dict", is_empty=not call.machine.is_in_set)
        if len(call.given) < 1 + (call.name == "defaultdict")
        else None
    )


def _setdefault(call: Call) -> None:
    if call.owner is not None and call.owner.kind == "dict":
        call.owner.filled(call.machine.order)


def _step(call: Call) -> None:
    if call.owner is not None and call.owner.kind in {"optimizer", "scheduler"}:
        call.note("update", call.owner, value="accumulate" in call.machine.blocks)


def _sampler(call: Call) -> Thing:
    told = call.given[1] if len(call.given) > 1 else call.words.get("num_replicas", Thing(value=None))
    is_hidden = "num_replicas" not in call.words and has_spread(call.node)
    call.note("sampler", value=not is_hidden and (told.value is None or told.kind == "world"))
    return Thing(kind="sampler")


def _world(call: Call) -> Thing | None:
    return None if call.given or call.words or call.owner is None else Thing(kind="world")


def _load(call: Call) -> None:
    """`load_state_dict(…, assign=True)` puts what it loads in the place of the parameters."""
    if call.owner is not None and call.words.get("assign", Thing(value=False)).value is True:
        call.note("exchange", *call.owner.models())


def _empty(call: Call) -> Thing | None:
    """A model on the meta device gets parameters of its own."""
    if call.owner is not None and call.machine.job.mentions("meta"):
        call.note("exchange", *call.owner.models())
    return call.owner


def _resize(call: Call) -> None:
    if call.owner is not None:
        call.note("exchange", *call.owner.models())


def _adapt(call: Call) -> Thing | None:
    """PEFT freezes what is there and adds parameters."""
    if call.given:
        call.note("exchange", *call.given[0].models())
    return call.given[0] if call.given else None


def _set(call: Call) -> None:
    """`setattr(model, name, layer)` puts new parameters in."""
    if len(call.given) == 3 and call.owner is None and (call.given[2].kind == "layer" or call.given[2].is_model):
        call.note("exchange", call.given[0], value="part")


def _sorted(call: Call) -> Thing:
    return Thing(holds=call.given[0].holds if call.given else [])


def _sort(call: Call) -> None:
    if call.owner is not None:
        call.owner.marks.pop("unordered", None)


def _first(call: Call) -> Thing | None:
    return call.given[0] if call.given else None


_HANDLERS: dict[str, Callable[[Call], Thing | None]] = {
    "DistributedDataParallel": _wrap,
    "FullyShardedDataParallel": _wrap,
    "fully_shard": _shard,
    "prepare": _prepare,
    **dict.fromkeys(("setup", "setup_module"), _set_up),
    "requires_grad_": _requires_grad,
    "len": _length,
    "strftime": _clock_text,
    **dict.fromkeys(("broadcast_object_list", "broadcast", "all_gather_object", "scatter_object_list"), _shared),
    **dict.fromkeys(("makedirs", "mkdir"), _directory),
    **dict.fromkeys(("TrainingArguments", "Seq2SeqTrainingArguments", "SFTConfig", "DPOConfig", "save"), _output),
    **dict.fromkeys(("append", "extend", "add"), _append),
    **dict.fromkeys(("get_scheduler", "get_cosine_schedule_with_warmup", "get_linear_schedule_with_warmup",
                     "get_polynomial_decay_schedule_with_warmup"), _scheduler),
    "setdefault": _setdefault,
    **dict.fromkeys(("defaultdict", "OrderedDict", "Counter"), _dictionary),
    "step": _step,
    "DistributedSampler": _sampler,
    "get_world_size": _world,
    "load_state_dict": _load,
    "to_empty": _empty,
    "resize_token_embeddings": _resize,
    "setattr": _set,
    **dict.fromkeys(("get_peft_model", "weight_norm"), _adapt),
    "sorted": _sorted,
    "sort": _sort,
    "compile": _first,
}  # fmt: skip
"""By the last part of the name."""
