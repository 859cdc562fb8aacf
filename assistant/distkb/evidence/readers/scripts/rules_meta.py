"""Models that are built without memory, on the meta device, and then sharded."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from distkb.evidence.readers.scripts.hit import ScriptContext, ScriptFinding, ScriptRule, hit
from distkb.evidence.readers.scripts.names import canonical, constant, last, shown, walk

_EMPTY, _RAW = "script.meta-without-memory", "script.meta-not-initialised"
_FILLS = re.compile(
    r"(?i)^_?(?:(?:re)?init(?:iali[sz]e)?(?:_?(?:weights?|params?|parameters|buffers?|model|module|states?|layers?))?"
    r"|(?:post|re|self)_init\w*|reset_parameters|load|load_\w+|restore\w*|set_\w*state_dict|from_pretrained|\w+_"
    r"|copy|apply|materiali[sz]e\w*|set_module_tensor_to_device|empty_like|zeros_like|distribute_tensor)$"
)
"""Calls that may give parameters values."""
_OF_TORCH = frozenset({"requires_grad_", "zero_", "detach_", "clip_grad_norm_", "clip_grad_value_", "share_memory_",
                       "load_dataset", "load_from_disk", "add_", "mul_", "lerp_"})  # fmt: skip
_GIVES = ("to_empty", "param_init_fn", "assign", "materialize", "init_on_device", "set_module_tensor_to_device",
          "empty_like", "set_model_state_dict", "from_pretrained", "dispatch_model")  # fmt: skip


def on_meta(job: ScriptContext) -> Iterator[ScriptFinding]:
    """Yield models built on the meta device and sharded by `fully_shard` that nothing gives memory, or no values."""
    if not job.mentions("fully_shard") or not job.mentions("backward"):
        return
    for function in job.project.functions:
        for node in walk(function.node):
            if not isinstance(node, ast.With):
                continue
            block = next((item.context_expr for item in node.items if _is_meta(item.context_expr)), None)
            if block is None:
                continue
            if not job.mentions(*_GIVES):
                yield hit(_EMPTY, function, node, block=shown(block))
            elif job.mentions("to_empty") and not _is_filled(job):
                yield hit(_RAW, function, node, block=shown(block))
            return


def _is_meta(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    is_device = last(node.func) == "device" and any(constant(given) == "meta" for given in node.args)
    return is_device or last(node.func) == "init_empty_weights"


def _is_filled(job: ScriptContext) -> bool:
    """Whether any call of the project may give the parameters values."""
    if job.mentions("param_init_fn"):
        return True
    for function, site in job.sites():
        name = last(site.node.func)
        full = canonical(site.node.func, function.script)
        if (
            _FILLS.match(name)
            and name not in _OF_TORCH
            and not full.startswith(("json.", "yaml.", "dist.", "datasets."))
        ):
            return True
    return False


RULES = (ScriptRule(ids=(_EMPTY, _RAW), check=on_meta),)
