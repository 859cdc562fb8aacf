"""FSDP: units of trained and frozen parts, of one weight, of a list without forward, of another policy."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import argument, has_spread, keyword, positional
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.flow import Site
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.made import made_by, meanings, setting
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last, shown, words
from distkb.evidence.readers.scripts.nodes import nodes
from distkb.evidence.readers.scripts.number_types import some_types_of

_MIXED, _TIED = "script.frozen-and-trained-in-unit", "script.tied-weight-in-two-units"
_LIST, _POLICY, _AUTOCAST = "script.container-sharded", "script.unit-without-policy", "script.autocast-over-policy"
_SPLITS = ("use_orig_params", "fsdp_auto_wrap_policy", "lambda_auto_wrap_policy", "_or_policy", "lambda_policy_fn",
           "CustomPolicy", "LambdaPolicy")  # fmt: skip
"""Names of what lets FSDP1 hold trained and frozen parameters, or puts them into units of their own."""
_ADAPTER = re.compile(r"(?i)^_?(?:do)?lora|adapter|prefix_?tun|prompt_?tun")
"""Names of small trained parts that are put into a frozen model."""
_CONTAINERS = frozenset({"torch.nn.ModuleList", "torch.nn.ModuleDict"})


def _shards(job: ScriptContext) -> Iterator[tuple[Function, Site, str]]:
    """Yield the calls that make a unit, with the setting by which it is told its precision."""
    for function, site in job.sites():
        full = canonical(site.node.func, function.script)
        if full.startswith("torch.distributed") and site.node.args:
            if last(site.node.func) == "fully_shard" or full.endswith(".fully_shard"):
                yield function, site, "mp_policy"
            elif full.endswith(".FullyShardedDataParallel"):
                yield function, site, "mixed_precision"


def mixed(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield FSDP1 wrappings of whole layers of a model of which a part is frozen, without use_orig_params."""
    if job.mentions(*_SPLITS) or not (job.mentions("get_peft_model", "LoraConfig") or _freezes_some(job)):
        return
    for function, site, name in _shards(job):
        if name == "mixed_precision" and not has_spread(site.node):
            yield hit(_MIXED, function, site.node, call=f"{shown(site.node.func)}(…)")
            return


def _freezes_some(job: ScriptContext) -> bool:
    """Whether any script freezes parameters by their names, or freezes all and then trains a part."""
    parts = [node for script in job.project.scripts for node in script.nodes]
    adapted = any(_ADAPTER.search(word) for word in job.vocabulary)
    if any(map(_is_freeze, parts)) and (adapted or any(map(_trains_part, parts))):
        return True
    for script in job.project.scripts:
        for node in script.nodes:
            if isinstance(node, ast.If) and any(isinstance(p, ast.Compare) for p in nodes(node.test)):
                names_tested = any(isinstance(constant(part), str) for part in nodes(node.test))
                done = [part for statement in node.body for part in nodes(statement)]
                if names_tested and any(_is_freeze(part) for part in done):
                    return True
            if isinstance(node, ast.Assign) and last(node.targets[0]) == "requires_grad":
                compared = (part for part in nodes(node.value) if isinstance(part, ast.Compare))
                if any(isinstance(constant(one.left), str) for one in compared):
                    return True
    return False


def _trains_part(node: ast.AST) -> bool:
    """`model.head.requires_grad_(True)`."""
    named = node.func if isinstance(node, ast.Call) else None
    if not isinstance(node, ast.Call) or not isinstance(named, ast.Attribute) or named.attr != "requires_grad_":
        return False
    return isinstance(named.value, ast.Attribute) and constant(positional(node, 0)) is not False


def _is_freeze(node: ast.AST) -> bool:
    if isinstance(node, ast.Assign):
        return last(node.targets[0]) == "requires_grad" and constant(node.value) is False
    return (
        isinstance(node, ast.Call) and last(node.func) == "requires_grad_" and (constant(positional(node, 0)) is False)
    )


def tied(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield modules that are sharded each by itself although they share one weight."""
    pairs: list[tuple[str, str]] = []
    for script in job.project.scripts:
        for node in script.nodes:
            if isinstance(node, ast.Assign) and last(node.targets[0]) == "weight" and last(node.value) == "weight":
                both = [dotted(part).split(".") for part in (node.targets[0], node.value)]
                pairs += [(both[0][-2], both[1][-2])] if all(len(one) > 1 for one in both) else []
    sharded: dict[str, tuple[Function, Site]] = {}
    for function, site, _ in _shards(job) if pairs else ():
        sharded.setdefault(dotted(site.node.args[0]).rpartition(".")[2], (function, site))
    for one, other in pairs:
        if one in sharded and other in sharded and one != other:
            function, site = max((sharded[one], sharded[other]), key=lambda found: found[1].node.lineno)
            yield hit(_TIED, function, site.node, one=one, other=other)
            return


def container(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield lists of modules that are made one unit: a list has no forward that would gather its parameters."""
    for function, site, _ in _shards(job):
        given = site.node.args[0]
        if isinstance(given, ast.Attribute):
            held = job.project.held_under(given, function)
            made = [canonical(v.func, scope.script) for v, scope in held if isinstance(v, ast.Call)]
        else:
            made = [full for full, _, _ in made_by(given, function, job.project)]
        if made and all(full in _CONTAINERS for full in made):
            yield hit(_LIST, function, site.node, given=shown(given))


def without_policy(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield units without a policy for their precision where the function gives one to others of the same model."""
    by_function: dict[int, list[tuple[Function, Site, str]]] = {}
    for made in _shards(job):
        by_function.setdefault(id(made[0]), []).append(made)
    for found in by_function.values():
        told = [one for function, one, name in found if setting(one.node, name, function, job.project) is not None]
        bare = [one for _, one, name in found if keyword(one.node, name) is None and not has_spread(one.node)]
        alike = [one for one in bare if any(_same_model(one.node.args[0], other) for other in told)]
        for site in alike[:1]:
            values = {"call": shown(site.node), "policy_line": str(told[0].node.lineno)}
            yield hit(_POLICY, found[0][0], site.node, **values)


def _same_model(given: ast.expr, other: Site) -> bool:
    """Whether two units belong to one model: a part of it is sharded in a loop over it, or under its own name."""
    name = dotted(given).partition(".")[0]
    base = {dotted(other.node.args[0]).partition(".")[0]}
    for loop in other.where.loops:
        base |= words(loop.iter) if isinstance(loop, (ast.For, ast.AsyncFor)) else set()
    return bool(name) and name in base


def under_autocast(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield forwards of a sharded model inside of autocast to another type than the one its policy casts to."""
    if not job.mentions("autocast"):
        return
    told = {name for f, site, s in _shards(job) for name in _type(site.node, s, f, job)}
    for function in job.project.functions if told else ():
        for site in job.project.walk(function).sites:
            kind = kinds.kind_of(site.node.func, function, job.project, site.node.lineno)
            block = next((b for b in site.where.blocks if last(getattr(b, "func", b)) == "autocast"), None)
            if not isinstance(block, ast.Call) or kind not in {kinds.FSDP1, kinds.FSDP2}:
                continue
            given = argument(block, "dtype", 1)
            types = some_types_of(given, function, job) if given is not None else {"float16"}
            if constant(keyword(block, "enabled")) is not False and types and not types & told:
                values = {"call": shown(site.node.func), "block": shown(block), "type": min(told)}
                yield hit(_AUTOCAST, function, site.node, **values)
                break


def _type(call: ast.Call, name: str, function: Function, job: ScriptContext) -> set[str]:
    """Return the type to which a unit is told to cast its parameters."""
    given = setting(call, name, function, job.project)
    found: set[str] = set()
    for value, scope in meanings(given, function, job.project):
        if isinstance(value, ast.Call):
            kept = argument(value, "param_dtype", 0)
            found |= some_types_of(kept, scope, job) if kept is not None else set()
    return found


RULES = (
    ScriptRule(ids=(_MIXED,), check=mixed),
    ScriptRule(ids=(_TIED,), check=tied),
    ScriptRule(ids=(_LIST,), check=container),
    ScriptRule(ids=(_POLICY,), check=without_policy),
    ScriptRule(ids=(_AUTOCAST,), check=under_autocast),
)
