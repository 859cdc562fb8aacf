"""DeepSpeed's third stage and its one engine: weights read in pieces, several models at once, models loaded by map."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from distkb.evidence.readers.scripts import kinds
from distkb.evidence.readers.scripts.arguments import keyword
from distkb.evidence.readers.scripts.definitions import Function
from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, dotted, last, names_in, shown, words
from distkb.evidence.readers.scripts.nodes import nodes

_STATE, _READ = "script.state-of-partitioned", "script.weight-of-partitioned"
_TWO, _MAP = "script.two-models-one-engine", "script.map-with-sharding"
_SAVES = frozenset({"state_dict", "save_pretrained"})
_COMPUTES = frozenset({"norm", "pow", "sum", "clone", "copy_", "lerp_", "add_", "mul_", "abs", "mean", "square", "cpu"})
_THROUGH = frozenset({"detach", "float", "data", "to"})
_GATHERS = ("GatheredParameters", "_get_full_params", "consolidate", "stage3_gather_16bit_weights_on_model_save",
            "zero_to_fp32", "get_fp32_state_dict_from_zero_checkpoint", "safe_get_full_fp32_param")  # fmt: skip
_AVERAGE = "script.average-of-pieces"
_APART = "script.optimizer-prepared-apart"
_SEVERAL = 2


def state(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield states that are taken from the module inside of an engine whose parameters are partitioned."""
    if not job.project.declared.has_third_stage or job.mentions(*_GATHERS):
        return
    for function, call in job.calls():
        named = call.func
        if not isinstance(named, ast.Attribute) or named.attr not in _SAVES or keyword(call, "state_dict"):
            continue
        if _is_engine(named.value, function, job, call.lineno):
            yield hit(_STATE, function, call, call=shown(named))


def _is_engine(node: ast.expr, function: Function, job: ScriptContext, line: int, depth: int = 0) -> bool:
    """Whether an expression is an engine of DeepSpeed's, or the module inside of one, also as an argument."""
    inner = node.value if isinstance(node, ast.Attribute) and node.attr == "module" else node
    if kinds.kind_of(inner, function, job.project, line) == kinds.ENGINE:
        return True
    if isinstance(inner, ast.Name) and inner.id in function.parameters and depth < _SEVERAL:
        given = list(job.project.given(inner.id, function))
        return bool(given) and all(_is_engine(v, caller, job, v.lineno, depth + 1) for v, caller in given)
    return False


def weights(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield computations with the parameters of an engine whose parameters are partitioned, outside of a gather."""
    if not job.project.declared.has_third_stage or job.mentions(*_GATHERS):
        return
    for function in job.project.functions:
        for node in nodes(function.node):
            if not isinstance(node, (ast.For, ast.comprehension)) or not isinstance(node.iter, ast.Call):
                continue
            named = node.iter.func
            if not isinstance(named, ast.Attribute) or named.attr not in {"parameters", "named_parameters"}:
                continue
            if not _is_engine(named.value, function, job, node.iter.lineno):
                continue
            taken = names_in(node.target)
            used = next((call for call in _calls(function.node) if _computes(call, taken)), None)
            if used is not None:
                yield hit(_READ, function, used, weight=shown(used), model=shown(named.value))
                break


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    return (part for part in nodes(node) if isinstance(part, ast.Call))


def _computes(call: ast.Call, names: set[str]) -> bool:
    func = call.func
    if not isinstance(func, ast.Attribute) or func.attr not in _COMPUTES:
        return False
    inner: ast.expr = func.value
    while isinstance(inner, (ast.Attribute, ast.Call)):
        named = inner.func if isinstance(inner, ast.Call) else inner
        if not isinstance(named, ast.Attribute) or named.attr not in _THROUGH:
            return False
        inner = named.value
    return isinstance(inner, ast.Name) and inner.id in names


def averaged(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield averages that a callback makes of the parameters of a model which Lightning shards over the ranks."""
    told = (constant(keyword(call, "strategy")) for _, call in job.calls() if last(call.func) == "Trainer")
    named = job.mentions("FSDPStrategy") or any(name in {"deepspeed_stage_3", "fsdp"} for name in told)
    for function in job.project.functions if named and not job.mentions(*_GATHERS, "summon_full_params") else ():
        if not any(last(base).endswith(("Callback", "WeightAveraging")) for base in function.bases):
            continue
        for node in nodes(function.node):
            if not isinstance(node, (ast.For, ast.comprehension)) or not isinstance(node.iter, ast.Call):
                continue
            if "pl_module" in words(node.iter) and words(node.iter) & {"parameters", "named_parameters", "state_dict"}:
                taken = names_in(node.target)
                if any(_computes(call, taken) or _averages(call, taken) for call in _calls(function.node)):
                    yield hit(_AVERAGE, function, node.iter, over=shown(node.iter))
                    break


def _averages(call: ast.Call, names: set[str]) -> bool:
    given = {word for argument in call.args for word in words(argument)}
    return last(call.func) in {"lerp_", "lerp", "add_", "mul_"} and bool(given & names)


def two_models(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield several models or optimizers that meet one engine: in one `prepare`, or from `configure_optimizers`."""
    plugins = [call for _, call in job.calls() if last(call.func) == "DeepSpeedPlugin"]
    called = {dotted(call.func) for _, call in job.calls()} - {""}
    for function, call in job.calls() if len(plugins) == 1 else ():
        if last(call.func) != "prepare":
            continue
        found = [one for one in call.args if _is_optimizer(one, function, job, call.lineno)]
        models = [one for one in call.args if dotted(one) in called]
        several = found if len(found) >= _SEVERAL else models
        if len(several) >= _SEVERAL:
            yield hit(_TWO, function, call, call=shown(call.func), several=", ".join(map(shown, several)))
    if not any(_is_deepspeed(call) for _, call in job.calls()):
        return
    for function in job.project.functions:
        if not function.name.endswith(".configure_optimizers"):
            continue
        for value, _ in job.project.walk(function).returns:
            found = [one for one in getattr(value, "elts", ()) if _is_optimizer(one, function, job, value.lineno)]
            if len(found) >= _SEVERAL:
                yield hit(_TWO, function, value, call="configure_optimizers", several=", ".join(map(shown, found)))
                break


def _is_optimizer(node: ast.expr, function: Function, job: ScriptContext, line: int) -> bool:
    if kinds.kind_of(node, function, job.project, line) == kinds.OPTIMIZER:
        return True
    made = job.project.walk(function).assigned(dotted(node), before=line)[-1:]
    return any(kinds.kind_of(one.value, function, job.project, one.line) == kinds.OPTIMIZER for one in made)


def _is_deepspeed(call: ast.Call) -> bool:
    if last(call.func) == "DeepSpeedStrategy":
        return True
    strategy = keyword(call, "strategy")
    return last(call.func) == "Trainer" and "deepspeed" in str(constant(strategy))


def mapped(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield models that are loaded by a map of devices and then sharded over the ranks."""
    third = job.project.declared.has_third_stage
    if not third and not job.project.declared.has_sharding_plugin:
        return
    for function, call in job.calls():
        full = canonical(call.func, function.script)
        if last(call.func) != "from_pretrained" or not full.rpartition(".")[0].rpartition(".")[2].startswith(
            "AutoModel"
        ):
            continue
        low = third and constant(keyword(call, "low_cpu_mem_usage")) is True
        given = keyword(call, "device_map")
        if low or (given is not None and constant(given) is not None and "meta" not in words(given)):
            yield hit(_MAP, function, call, option="device_map" if given is not None else "low_cpu_mem_usage")


def apart(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield optimizers that `prepare` gets behind their model, of whose whole parameters they were made before."""
    if not job.project.declared.has_sharding_plugin and not job.mentions("DeepSpeedPlugin"):
        return
    for function, call in job.calls():
        if last(call.func) != "prepare" or not call.args:
            continue
        held = [_is_optimizer(one, function, job, call.lineno) for one in call.args]
        walk = job.project.walk(function)
        models = [s.node.lineno for s in walk.sites if last(s.node.func) == "prepare" and s.node.args]
        made = [one.line for given in call.args for one in walk.assigned(dotted(given), before=call.lineno)[-1:]]
        made += [given.lineno for given in call.args if isinstance(given, ast.Call)]
        if all(held) and min(models) < call.lineno and min(made, default=0) < min(models):
            yield hit(_APART, function, call, call=shown(call))


RULES = (
    ScriptRule(ids=(_APART,), check=apart),
    ScriptRule(ids=(_STATE,), check=state),
    ScriptRule(ids=(_READ,), check=weights),
    ScriptRule(ids=(_AVERAGE,), check=averaged),
    ScriptRule(ids=(_TWO,), check=two_models),
    ScriptRule(ids=(_MAP,), check=mapped),
)
