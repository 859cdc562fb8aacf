"""States that one rank saves as if they were the model's, although they hold its own shards."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import receiver
from distkb.evidence.readers.scripts.definitions import Class, Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import Meaning, maker
from distkb.evidence.readers.scripts.names import canonical, dotted, last, shown, words

_SAVED = "script.shards-saved-on-main"
_GATHERS = frozenset({"full_tensor", "get_model_state_dict", "full_state_dict", "unshard", "summon_full_params"})
_MADE_WHOLE = ("full_tensor", "redistribute", "unshard")
"""Methods that make the whole tensor of a DTensor."""
_INNER = frozenset({"module", "_fsdp_wrapped_module"})
_ANY_UNIT = ("size_based_auto_wrap_policy", "always_wrap_policy", "lambda_auto_wrap_policy", "CustomPolicy",
             "lambda_policy_fn", "enable_wrap", "nonwrapped_numel", "ignored_modules", "NO_SHARD")  # fmt: skip
"""Names of policies that do not name the classes of their units, and of what is not sharded at all."""
_LAYERS = frozenset({"Linear", "Embedding", "Parameter", "LayerNorm", "RMSNorm", "GroupNorm", "Conv1d", "Conv2d",
                     "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "BatchNorm1d", "BatchNorm2d"})  # fmt: skip
"""What of torch's has parameters."""
_DEPTH = 5


def shards_on_main(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield what rank 0 alone saves of a sharded model that no rank has gathered."""
    for function, site in job.sites() if job.mentions("fully_shard", "FullyShardedDataParallel") else ():
        if site.where.side != "main" or canonical(site.node.func, function.script) != "torch.save":
            continue
        for call, scope in _states(site.node.args[0], function, job) if site.node.args else ():
            owner = receiver(call) or call.func
            root = _unsaved_root(owner, scope, job)
            if root is not None:
                yield hit(_SAVED, function, site.node, model=shown(owner), root=shown(root))


def _states(
    node: ast.expr, function: Function, job: ScriptContext, depth: int = 0
) -> Iterator[tuple[ast.Call, Function]]:
    """Yield the calls of `state_dict` whose tensors are part of a value, where no function on the way gathers."""
    if depth > _DEPTH or _GATHERS & words(function.node):
        return
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "state_dict":
        yield node, function
        return
    inner: list[Meaning] = []
    match node:
        case ast.Call(func=ast.Attribute(value=whole, attr="items" | "copy")):
            inner = [(whole, function)]
        case ast.Call(func=ast.Name(id="dict" | "OrderedDict"), args=given, keywords=named):
            inner = [(value, function) for value in (*given, *(word.value for word in named))]
        case ast.Call():
            inner = job.project.returned(node, function)
        case ast.Dict(values=values):
            inner = [(value, function) for value in values]
        case ast.DictComp(generators=[ast.comprehension(iter=over)]):
            inner = [(over, function)]
        case ast.Name() | ast.Attribute():
            inner = _held(node, function, job)
    for value, scope in inner:
        yield from _states(value, scope, job, depth + 1)


def _held(node: ast.Name | ast.Attribute, function: Function, job: ScriptContext) -> list[Meaning]:
    """Return what a name stands for, and what is put under its keys."""
    items = job.project.walk(function).items
    put = [(made.value, function) for (name, _), every in items.items() for made in every if name == dotted(node)]
    return [*job.project.stands_for(node, function), *put]


def _unsaved_root(owner: ast.expr, function: Function, job: ScriptContext) -> ast.expr | None:
    """Return the sharded root to which a module belongs whose `state_dict` gives the rank's own shards."""
    found = _part(owner, function, job)
    if found is None:
        return None
    root, scope, path = found
    if kinds.kind_of(root, scope, job.project, root.lineno) == kinds.FSDP2:
        return None if job.mentions(*_MADE_WHOLE) else root
    return root if path and _is_left_to_root(root, scope, path, job) else None


def _part(
    node: ast.expr, function: Function, job: ScriptContext, depth: int = 0
) -> tuple[ast.expr, Function, tuple[str, ...]] | None:
    """Return the sharded model of which an expression is a part, with the attributes that lead to the part."""
    if kinds.kind_of(node, function, job.project, node.lineno) in {kinds.FSDP1, kinds.FSDP2}:
        return node, function, ()
    inner: list[Meaning] = []
    step: tuple[str, ...] = ()
    match node:
        case ast.Call(func=ast.Name(id="getattr"), args=[whole, ast.Constant(value="module"), *_]):
            inner, step = [(whole, function)], ("module",)
        case ast.Call():
            inner = job.project.returned(node, function)
        case ast.Name():
            inner = job.project.stands_for(node, function)
        case ast.Attribute(value=whole, attr=attr) if dotted(whole) != "self":
            inner, step = [(whole, function)], (attr,)
        case ast.Attribute():
            inner = job.project.stands_for(node, function)
    found = _part(*inner[0], job, depth + 1) if len(inner) == 1 and depth < _DEPTH else None
    return None if found is None else (found[0], found[1], (*found[2], *step))


def _is_left_to_root(root: ast.expr, function: Function, path: tuple[str, ...], job: ScriptContext) -> bool:
    """Whether an inner module of an FSDP1 model has parameters that only the root gathers."""
    if job.mentions(*_ANY_UNIT):
        return False
    cls = kinds.model_class(root, function, job.project)
    names = [name for name in path if name not in _INNER]
    if cls is None:
        made = maker(root, function, job.project, root.lineno)
        return not names and made is not None and last(made.call.func) == "from_pretrained"
    units = _units(job)
    for name in names:
        held = _class_of(cls, name, job)
        if held is None or {name, held.name} & units:
            return False
        cls = held
    return _has_layers(cls, units, job)


def _class_of(owner: Class, name: str, job: ScriptContext) -> Class | None:
    """Return the class of the module that an attribute of another holds."""
    values = job.project.attribute_values(owner).get(name, [])
    init = job.project.method(owner, "__init__")
    return job.project.holds_class(values[0], init) if len(values) == 1 and init is not None else None


def _has_layers(cls: Class, units: set[str], job: ScriptContext) -> bool:
    """Whether a module has layers of torch's of its own that are no units."""
    values = (value for every in job.project.attribute_values(cls).values() for value in every)
    made = (canonical(value.func, cls.script) for value in values if isinstance(value, ast.Call))
    layers = {name.rpartition(".")[2] for name in made if name.startswith("torch.nn.")}
    return bool(layers & _LAYERS - units)


def _units(job: ScriptContext) -> set[str]:
    """Return the names of classes that are handed on, as to a policy, and of attributes that are wrapped."""
    called: set[int] = set()
    found: set[str] = set()
    for function, call in job.calls():
        called.add(id(call.func))
        if kinds.kind_of(call, function, job.project) == kinds.FSDP1:
            found |= {last(one) for one in call.args[:1]}
    for script in job.project.scripts:
        for node in script.nodes:
            if isinstance(node, (ast.Name, ast.Attribute)) and id(node) not in called:
                found |= {last(node)} if last(node)[:1].isupper() else set()
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
    return found


RULES = (ScriptRule(ids=(_SAVED,), check=shards_on_main),)
