"""Device meshes: sizes that are too many for the job, and dimensions handed to what another one is for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts.arguments import argument, keyword
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import meanings
from distkb.evidence.readers.scripts.names import constant, last, shown
from distkb.evidence.readers.scripts.ranks import environment

_SIZES, _OTHER = "script.mesh-too-large", "script.other-dimension"
_SWAPPED, _HYBRID = "script.shards-before-replicas", 2
_SHARDS, _COPIES = re.compile(r"(?i)^(?:dp_)?(?:f?sdp_)?(?:shard|fsdp)"), re.compile(r"(?i)^(?:dp_|ddp_)?repli|^ddp$")
_DATA = re.compile(r"(?i)^(?:dp|data|ddp|fsdp|hsdp|replicate|replica|batch|shard|dp_\w+)$")
_MODEL = re.compile(r"(?i)^(?:tp|tensor|model|mp|pp|pipe|pipeline|tensor_parallel)$")


def too_large(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield meshes of which one side is the whole world and another one more than one."""
    for function, call in job.calls():
        if last(call.func) not in {"init_device_mesh", "DeviceMesh"} or len(call.args) < 2:
            continue
        sides = call.args[1].elts if isinstance(call.args[1], (ast.Tuple, ast.List)) else []
        world = [side for side in sides if _is_world(side, function, job)]
        more = [side for side in sides if _is_more(side, function, job)]
        if world and more:
            yield hit(_SIZES, function, call, sizes=shown(call.args[1]), world=shown(world[0]), side=shown(more[0]))


def _is_world(node: ast.expr, function: Function, job: ScriptContext) -> bool:
    made = job.project.single(node, function) or node
    if isinstance(made, ast.Call) and last(made.func) == "int" and made.args:
        made = made.args[0]
    return environment(made) == "WORLD_SIZE" or (isinstance(made, ast.Call) and last(made.func) == "get_world_size")


def _is_more(node: ast.expr, function: Function, job: ScriptContext) -> bool:
    known = node
    if isinstance(node, ast.Name):
        default = function.default(node.id) if node.id in function.parameters else None
        given = list(job.project.given(node.id, function)) if node.id in function.parameters else []
        known = given[0][0] if given else default or job.project.single(node, function) or node
    value = constant(known)
    return isinstance(value, int) and value > 1


def other_dimension(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield tensor parallelism over the dimension of the data, and data parallelism over that of the model."""
    for function, call in job.calls():
        name = last(call.func)
        if name == "parallelize_module":
            mesh, wrong = argument(call, "device_mesh", 1), _DATA
        elif name in {"fully_shard", "FullyShardedDataParallel", "FSDP"}:
            mesh, wrong = keyword(call, "mesh") or keyword(call, "device_mesh"), _MODEL
        else:
            continue
        if mesh is not None and not isinstance(mesh, ast.Subscript):
            mesh = next((value for value, _ in meanings(mesh, function, job.project)), mesh)
        if wrong is _MODEL and mesh is not None and not isinstance(mesh, ast.Subscript):
            whole = [str(constant(one)) for one in _dimensions(mesh, function, job)]
            model = next((one for one in whole if _MODEL.match(one)), "")
            if model and job.mentions("parallelize_module") and len(whole) > 1:
                yield hit(_OTHER, function, call, call=name, dimension=", ".join(whole))
                continue
        dimension = constant(mesh.slice) if isinstance(mesh, ast.Subscript) else None
        if isinstance(dimension, str) and wrong.match(dimension):
            yield hit(_OTHER, function, call, call=name, dimension=dimension)


def shards_first(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield meshes for FSDP whose first dimension is named for the shards: it always replicates over the first."""
    told: set[int] = set()
    for function, site in job.sites():
        if last(site.node.func) not in {"fully_shard", "FullyShardedDataParallel", "FSDP"}:
            continue
        mesh = keyword(site.node, "mesh") or keyword(site.node, "device_mesh")
        names = [str(constant(one)) for one in _dimensions(mesh, function, job)] if mesh is not None else []
        if len(names) == _HYBRID and _SHARDS.match(names[0]) and _COPIES.match(names[1]):
            if not told:
                yield hit(_SWAPPED, function, site.node, names=", ".join(names), call=last(site.node.func))
            told.add(id(site))


def _dimensions(mesh: ast.expr, function: Function, job: ScriptContext) -> list[ast.expr]:
    """Return the names of all dimensions of a mesh that is handed over whole."""
    for value, scope in meanings(mesh, function, job.project):
        named = keyword(value, "mesh_dim_names") if isinstance(value, ast.Call) and _makes_mesh(value) else None
        for names, _ in meanings(named, scope, job.project):
            if isinstance(names, (ast.Tuple, ast.List)):
                return names.elts
    return []


def _makes_mesh(call: ast.Call) -> bool:
    return last(call.func) in {"init_device_mesh", "DeviceMesh"}


RULES = (
    ScriptRule(ids=(_SWAPPED,), check=shards_first),
    ScriptRule(ids=(_SIZES,), check=too_large),
    ScriptRule(ids=(_OTHER,), check=other_dimension),
)
