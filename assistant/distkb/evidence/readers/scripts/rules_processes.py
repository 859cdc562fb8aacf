"""How each process comes to its GPU and into the group: no device, two groups, none at all."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import argument, arguments, keyword, receiver, spreads_keywords
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import literals, meanings
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last, shown, walk
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.ranks import environment

_NO_DEVICE, _LATE = "script.no-device-set", "script.device-set-late"
_AGAIN, _NONE = "script.group-made-twice", "script.group-never-made"
_ALONE = "script.trains-alone"
_GIVEN = frozenset({"RANK", "LOCAL_RANK"})
_OTHERS = ("all_reduce", "reduce_gradients", "xla", "hvd", "CUDA_VISIBLE_DEVICES", "fold", "trial", "optuna")
"""Names of other ways to train together, and of trainings that are meant to be apart."""
_TAKES_GPU = frozenset({"set_device", "device", "cuda", "to", "print", "info", "str", "int"})
_SAVED_PLACE, _PARALLEL = "script.loaded-where-saved", "script.data-parallel"
_BEGINS = "torch.distributed.init_process_group"
_FRAMEWORKS = ("lightning", "pytorch_lightning", "accelerate", "deepspeed", "Trainer", "Fabric", "horovod", "ray",
               "spawn", "transformers", "ignite", "mmengine", "composer", "fastai")  # fmt: skip
"""Names of what chooses a GPU, and makes the group, itself."""
_CHOOSES = ("set_device", "LOCAL_RANK", "local_rank", "CUDA_VISIBLE_DEVICES", "device_id", "device_count",
            "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "get_local_rank", "local_process_index", "fork",
            "set_default_device", "init_device_mesh", "Process")  # fmt: skip
"""Names that show that a script gives each process a GPU of its own."""
_JOINS = ("init_process_group", "init_distributed", "init_device_mesh", "initialize", "PartialState",
          "DistributedDataParallel", "setup_distributed", "init_distributed_mode")  # fmt: skip
_OF_OBJECTS = frozenset(
    f"torch.distributed.{name}" for name in ("all_gather_object", "gather_object", "broadcast_object_list",
                                             "scatter_object_list")
)  # fmt: skip
"""Collectives that NCCL makes through a tensor on the current GPU."""
_ON_GPU = re.compile(r"(?i)model|net|optim|^opt|module|encoder|backbone|disc|gen")


def no_device(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield the first thing that goes to `cuda` without a number where no process is given a GPU of its own."""
    backends = [str(b) for _, site in _groups(job) for b in _backend(site.node, job)]
    if "nccl" not in backends or job.mentions(*_FRAMEWORKS):
        return
    if not job.mentions(*_CHOOSES):
        found = [(f, s) for f, s in job.sites() if _goes_to_cuda(s, f, job)]
        if found and not _numbered(job):
            function, site = found[0]
            yield hit(_NO_DEVICE, function, site.node, call=shown(site.node))
        return
    for function in job.project.functions:
        sites = job.project.walk(function).sites
        chosen = next((s for s in sites if canonical(s.node.func, function.script) == "torch.cuda.set_device"), None)
        if chosen is None or not chosen.where.certain:
            continue
        for site in sites:
            above = site.node.lineno < chosen.node.lineno
            on_current = _is_on_current(site.node) or (above and surely_called(site, function, job, _OF_OBJECTS))
            if above and site.where.certain and on_current and not _is_bound(job):
                yield hit(_LATE, function, site.node, call=shown(site.node), set_line=str(chosen.node.lineno))
                break


def _is_bound(job: ScriptContext) -> bool:
    """Whether the group is told its GPU, which then is the one of its collectives."""
    return any(keyword(site.node, "device_id") is not None for _, site in _groups(job))


def _groups(job: ScriptContext) -> Iterator[tuple[Function, Site]]:
    for function, site in job.sites():
        if canonical(site.node.func, function.script) == _BEGINS:
            yield function, site


def _backend(call: ast.Call, job: ScriptContext) -> list[object]:
    """Return the backends that a group may have, as far as they are written out."""
    given = argument(call, "backend", 0)
    function = next((f for f, site in _groups(job) if site.node is call), None)
    return literals(given, function, job.project) if given is not None and function is not None else []


def _is_on_current(call: ast.Call) -> bool:
    """Whether a call puts something on the GPU that is the current one: `.cuda()`, `.to("cuda")`."""
    if not isinstance(call.func, ast.Attribute) or len(call.args) > 1:
        return False
    if call.func.attr == "cuda":
        return not call.args and not call.keywords
    return call.func.attr == "to" and bool(call.args) and constant(call.args[0]) == "cuda"


def _goes_to_cuda(site: Site, function: Function, job: ScriptContext) -> bool:
    """Whether a call puts something on `cuda` or `cuda:0`, be it through a name or a setting."""
    call = site.node
    if not isinstance(call.func, ast.Attribute) or len(call.args) > 1 or call.func.attr not in {"to", "cuda"}:
        return False
    if not call.args:
        return call.func.attr == "cuda" and not call.keywords
    places = [part for value, _ in meanings(call.args[0], function, job.project) for part in nodes(value)]
    return any(constant(part) in {"cuda", "cuda:0"} for part in places)


def _numbered(job: ScriptContext) -> bool:
    """Whether any script makes a device of a number that it computes."""
    for script in job.project.scripts:
        for node in script.nodes:
            if isinstance(node, ast.JoinedStr) and any(str(constant(v)).startswith("cuda") for v in node.values):
                return True
            if isinstance(node, ast.Call) and last(node.func) == "device" and len(node.args) > 1:
                return True
            if isinstance(node, ast.Call) and last(node.func) == "cuda" and node.args:
                return True
    return False


def twice(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield a second default group that is surely made behind the first, in one run of the script's top level."""
    if job.mentions("is_initialized", "destroy_process_group") or job.mentions("spawn", "Process"):
        return
    for script in job.project.scripts:
        made: list[tuple[Function, Site]] = []
        top = job.project.modules[id(script)]
        for site in job.project.walk(top).sites:
            if site.where.certain and not site.where.loops:
                made += surely_called(site, top, job, frozenset({_BEGINS}))
        places = {id(site.node) for _, site in made}
        if len(places) > 1:
            function, second = made[1]
            values = {"call": shown(second.node), "first_line": str(made[0][1].node.lineno)}
            yield hit(_AGAIN, function, second.node, **values)
            return


def surely_called(
    site: Site, function: Function, job: ScriptContext, names: frozenset[str], depth: int = 0
) -> list[tuple[Function, Site]]:
    """Return the calls of some names that a call surely makes, itself or in the functions of the project it runs."""
    if canonical(site.node.func, function.script) in names:
        return [(function, site)]
    below = job.project.below(site.node, function) if depth < 3 else []
    inside = [(target, one) for target, one in below if one.where.certain and not one.where.loops]
    return [made for target, one in inside for made in surely_called(one, target, job, names, depth + 1)]


def never_made(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield the sampler of a rank that takes its number from the launcher, trains, and never joins a group."""
    if job.mentions(*_JOINS, *_FRAMEWORKS, "xla", "hvd") or not job.mentions("backward"):
        return
    for function, call in job.calls():
        if last(call.func) != "DistributedSampler":
            continue
        given = arguments(call)
        read = [environment(p) for g in given for v, _ in meanings(g, function, job.project) for p in nodes(v)]
        if {"RANK", "WORLD_SIZE"} & set(read):
            yield hit(_NONE, function, call, call=shown(call))
            return


def trains_alone(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield the launcher's rank where it only chooses a GPU and who writes, in a script that trains without a group."""
    if job.mentions(*_JOINS, *_FRAMEWORKS, *_OTHERS) or not job.mentions("backward"):
        return
    assigned = ((f, node) for f in job.project.functions for node in walk(f.node) if isinstance(node, ast.Assign))
    read = [(f, node) for f, node in assigned if {environment(part) for part in nodes(node.value)} & _GIVEN]
    uses = [_names_of(node) for _, node in read]
    if read and all(_only_chooses(name, job) for names in uses for name in names):
        function, node = min(read, key=lambda one: one[1].lineno)
        yield hit(_ALONE, function, node, name=shown(node.value))


def _names_of(node: ast.Assign) -> list[str]:
    return [part.id for target in node.targets for part in nodes(target) if isinstance(part, ast.Name)]


def _only_chooses(name: str, job: ScriptContext) -> bool:
    """Whether a number is only compared, or given to what chooses a GPU."""
    for script in job.project.scripts:
        for node in script.nodes:
            if isinstance(node, (ast.BinOp, ast.Subscript, ast.FormattedValue, ast.For)):
                inside = node.iter if isinstance(node, ast.For) else node
                device = isinstance(node, ast.FormattedValue)
                if not device and any(isinstance(part, ast.Name) and part.id == name for part in nodes(inside)):
                    return False
            if (
                isinstance(node, ast.Call)
                and last(node.func) not in _TAKES_GPU
                and any(isinstance(one, ast.Name) and one.id == name for one in node.args)
            ):
                return False
    return True


def loaded_where_saved(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield states that every rank loads as they were saved, so that all of them put them on the GPU of rank 0."""
    on_gpu = job.mentions("cuda", "nccl") and not job.mentions("set_default_device", "mmap")
    if not on_gpu or not job.mentions("DistributedDataParallel"):
        return
    for function in job.project.functions:
        walk = job.project.walk(function)
        kept = {a.target: a.value for a in walk.assignments if a.index is None}
        for site in walk.sites:
            call = site.node
            if canonical(call.func, function.script) != "torch.load" or site.where.side != "both":
                continue
            if not any(
                _is_distributed(one) for one in (function, *(caller for caller, _ in job.project.callers(function)))
            ):
                continue
            if len(call.args) > 1 or keyword(call, "map_location") is not None or spreads_keywords(call):
                continue
            name = next((target for target, value in kept.items() if value is call), "")
            if _is_restored(call, name, function, job) and not _moves(name, function):
                yield hit(_SAVED_PLACE, function, call, call=shown(call))


def _is_distributed(function: Function) -> bool:
    """Whether a function stands in a file that works with several ranks."""
    return any(part in target for target in function.script.imports.values() for part in ("distributed", "Distributed"))


def _is_restored(call: ast.Call, name: str, function: Function, job: ScriptContext) -> bool:
    """Whether what was loaded goes into an optimizer or a model."""
    for site in job.project.walk(function).sites:
        owner = receiver(site.node) or site.node.func
        if last(site.node.func) == "load_state_dict" and _ON_GPU.search(last(owner)):
            parts = [part for given in site.node.args for part in nodes(given)]
            if any(part is call or (name and dotted(part) == name) for part in parts):
                return True
    return False


def _moves(name: str, function: Function) -> bool:
    """Whether a function takes what was loaded apart and moves it itself."""
    return bool(name) and any(
        isinstance(node, (ast.DictComp, ast.For)) and any(dotted(part) == name for part in nodes(node))
        for node in nodes(function.node)
    )


def data_parallel(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield models that one process spreads over the GPUs with DataParallel."""
    if job.is_parallel:
        return
    for function, call in job.calls_of(
        "torch.nn.DataParallel",
        "torch.nn.parallel.DataParallel",
    ):
        yield hit(_PARALLEL, function, call, call=shown(call))
        return


RULES = (
    ScriptRule(ids=(_ALONE,), check=trains_alone),
    ScriptRule(ids=(_NO_DEVICE, _LATE), check=no_device),
    ScriptRule(ids=(_AGAIN,), check=twice),
    ScriptRule(ids=(_NONE,), check=never_made),
    ScriptRule(ids=(_SAVED_PLACE,), check=loaded_where_saved),
    ScriptRule(ids=(_PARALLEL,), check=data_parallel),
)
