"""FSDP: policies by size and by class, and loops that shard by class, that match no layer of the model."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import argument, has_spread, keyword, receiver
from distkb.evidence.readers.scripts.definitions import Class, Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import Meaning, literals, meanings, setting
from distkb.evidence.readers.scripts.names import canonical, constant, last, shown
from distkb.evidence.readers.scripts.nodes import nodes

_SIZE, _ABSENT = "script.size-policy-too-large", "script.policy-class-absent"
_NAMED = "script.policy-name-absent"
_DEFAULT = 100_000_000
"""Parameters that a module must have where the policy by size is not told another number."""
_WIDE = 2048
"""Numbers from which a model may well have blocks of that size."""
_FOREIGN = ("from_pretrained", "from_config", "create_model", "AutoModel", "torchvision", "timm", "hub", "diffusers")
"""Names of what makes modules whose inside is not in the scripts."""
_NAMES = ("transformer_cls_names_to_wrap", "fsdp_transformer_layer_cls_to_wrap", "transformer_layer_cls_to_wrap")


def _wrappings(job: ScriptContext) -> Iterator[tuple[Function, ast.Call, Class]]:
    """Yield the calls that wrap a model of the project's in FSDP1, with its class."""
    for function, site in job.sites():
        full = canonical(site.node.func, function.script)
        if full.startswith("torch.distributed.") and full.endswith(".FullyShardedDataParallel") and site.node.args:
            cls = kinds.model_class(site.node.args[0], function, job.project)
            if cls is not None and not site.where.loops:
                yield function, site.node, cls


def by_size(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield policies by size whose threshold is larger than the blocks of a model with narrow layers."""
    numbers = (node.value for script in job.project.scripts for node in script.nodes if isinstance(node, ast.Constant))
    if any(isinstance(one, int) and _WIDE <= one < _DEFAULT for one in numbers if not _is_vocabulary(one)):
        return
    for function, call, cls in _wrappings(job):
        policy = setting(call, "auto_wrap_policy", function, job.project)
        for made, scope in meanings(policy, function, job.project):
            least = _threshold(made, scope, job)
            if least >= _DEFAULT and _lists(cls, job):
                values = {"policy": shown(made), "least": f"{least:,}", "model": cls.name}
                yield hit(_SIZE, function, call, policy_line=str(made.lineno), **values)
                return


def _is_vocabulary(number: object) -> bool:
    """Whether a number is more likely a count of rows, of files or of bytes than a width."""
    return isinstance(number, int) and number > 16 * _WIDE


def _threshold(made: ast.expr, function: Function, job: ScriptContext) -> int:
    """Return how many parameters a policy by size asks for; 0 where it is another policy, or that is open."""
    if canonical(made, function.script).endswith(".size_based_auto_wrap_policy"):
        return _DEFAULT
    if not isinstance(made, ast.Call) or not made.args or last(made.func) != "partial" or has_spread(made):
        return 0
    if not canonical(made.args[0], function.script).endswith(".size_based_auto_wrap_policy"):
        return 0
    told = keyword(made, "min_num_params")
    known = [_DEFAULT] if told is None else literals(told, function, job.project)
    return int(known[0]) if len(known) == 1 and isinstance(known[0], (int, float)) else 0


def _lists(cls: Class, job: ScriptContext) -> str:
    """Return the attribute in which a model, or a part of it, has a list of layers that a loop makes."""
    for part in _tree(cls, job):
        for name, values in job.project.attribute_values(part).items():
            for node in (node for value in values for node in nodes(value)):
                holds = isinstance(node, ast.Call) and last(node.func) in {"ModuleList", "Sequential"}
                if holds and any(isinstance(one, (ast.ListComp, ast.GeneratorExp)) for one in nodes(node)):
                    return name
    return ""


def _tree(cls: Class, job: ScriptContext) -> list[Class]:
    """Return the classes that a model's class names, and those that they name."""
    found = [cls]
    for part in found:
        bases = (job.project.class_named(base, part.script) for base in part.node.bases)
        named = (job.project.class_named(n, part.script) for n in nodes(part.node) if isinstance(n, ast.Name))
        found += [one for one in {id(c): c for c in (*bases, *named) if c is not None}.values() if one not in found]
    return found


def absent(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield policies by class, and loops that shard by class, that name none of which the model is made."""
    if job.mentions(*_FOREIGN):
        return
    for function, call, cls in _wrappings(job):
        policy = setting(call, "auto_wrap_policy", function, job.project)
        for made, scope in meanings(policy, function, job.project):
            named = list(_classes(made, scope, job))
            if named and all(_is_absent(one, cls, job) for one in named):
                values = {"policy": shown(made), "named": ", ".join(shown(one) for one, _ in named)}
                yield hit(_ABSENT, scope, made, model=cls.name, **values)
                return
    for function, site in job.sites():
        if last(site.node.func) != "fully_shard" or not site.where.loops or not site.where.tests:
            continue
        loop, test = site.where.loops[-1], site.where.tests[-1]
        over = loop.iter if isinstance(loop, ast.For) else None
        if not isinstance(over, ast.Call) or last(over.func) not in {"modules", "named_modules", "children"}:
            continue
        model = receiver(over)
        found = None if model is None else kinds.model_class(model, function, job.project)
        kind = (
            test.args[1] if isinstance(test, ast.Call) and last(test.func) == "isinstance" and test.args[1:] else None
        )
        wanted = list(_named(kind, function, job)) if kind is not None else []
        if found is not None and wanted and all(_is_absent(one, found, job) for one in wanted):
            values = {"policy": shown(test), "named": ", ".join(shown(one) for one, _ in wanted)}
            yield hit(_ABSENT, function, test, model=found.name, **values)
            return


def _classes(made: ast.expr, function: Function, job: ScriptContext) -> Iterator[Meaning]:
    """Yield the classes that a policy by class names."""
    if not isinstance(made, ast.Call):
        return
    by_layer = last(made.func) == "partial" and made.args and last(made.args[0]) == "transformer_auto_wrap_policy"
    given = keyword(made, "transformer_layer_cls") if by_layer else None
    if last(made.func) == "ModuleWrapPolicy":
        given = argument(made, "module_classes", 0)
    yield from _named(given, function, job)


def _named(given: ast.expr | None, function: Function, job: ScriptContext) -> Iterator[Meaning]:
    for value, scope in meanings(given, function, job.project):
        each = value.elts if isinstance(value, (ast.Set, ast.Tuple, ast.List)) else [value]
        yield from ((one, scope) for one in each)


def _is_absent(named: Meaning, model: Class, job: ScriptContext) -> bool:
    """Whether a class is one of the project's, or of torch's layers, that no class of the model speaks of."""
    node, scope = named
    own, full = job.project.class_named(node, scope.script), canonical(node, scope.script)
    tree = _tree(model, job)
    if own is not None:
        return own not in tree and not _is_handed(own.name, own, job)
    used = {canonical(n, p.script) for p in tree for n in nodes(p.node) if isinstance(n, (ast.Name, ast.Attribute))}
    inside = {name.rpartition(".")[2] for name in used}
    layer = full.rpartition(".")[2]
    composed = inside & {"Transformer", "TransformerEncoder", "TransformerDecoder"} and "Transformer" in layer
    return full.startswith("torch.nn.") and layer not in inside and not composed and not _is_handed(layer, None, job)


def _is_handed(name: str, own: Class | None, job: ScriptContext) -> bool:
    """Whether code outside of classes uses a class other than to ask for it or to name it in a policy."""
    for function, call in job.calls():
        if function.owner is own is not None or last(call.func) in {"isinstance", "ModuleWrapPolicy", "partial"}:
            continue
        outside = function.owner is None
        if outside and (last(call.func) == name or any(last(one) == name for one in call.args)):
            return True
        if outside and any(last(word.value) == name for word in call.keywords):
            return True
    return False


def names_absent(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield names of layers, told to Accelerate or the Trainer, that no class has of which the scripts speak."""
    if job.mentions(*_FOREIGN) or not any("forward" in one.methods for one in _every_class(job)):
        return
    known = {one.name for one in _every_class(job)} | {
        canonical(n, s).rpartition(".")[2] for s in job.project.scripts for n in s.nodes if isinstance(n, ast.Call)
        for n in [n.func]
    }  # fmt: skip
    for function, call in job.calls():
        for name in _NAMES:
            given = setting(call, name, function, job.project)
            for value, scope in _named(given, function, job) if given is not None else ():
                text = constant(value)
                missing = [one for one in str(text).split(",") if one not in known] if isinstance(text, str) else []
                if missing and not any("Transformer" in one for one in missing):
                    yield hit(_NAMED, scope, value, named=", ".join(missing), setting=name)
                    return


def _every_class(job: ScriptContext) -> list[Class]:
    return list({id(f.owner): f.owner for f in job.project.functions if f.owner is not None}.values())


RULES = (
    ScriptRule(ids=(_SIZE,), check=by_size),
    ScriptRule(ids=(_ABSENT,), check=absent),
    ScriptRule(ids=(_NAMED,), check=names_absent),
)
