"""Finds the calls of a Python script that configure distributed training, without running it.

Only what is written out is read: constants, lists and dicts. A variable, or `**kwargs`, is an unknown value.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

from distkb.evidence.readers.configs.item import (
    MAX_NODES,
    UNKNOWN,
    ConfigPart,
    ConfigValue,
    Kind,
    Source,
    UnreadableConfigError,
)
from distkb.evidence.text.syntax import parse_python

_ARGUMENTS = ("TrainingArguments", "Seq2SeqTrainingArguments")
"""Calls whose names end in one of these configure the Hugging Face Trainer."""
_TRL = re.compile(r"(?:SFT|DPO|GRPO|RLOO|KTO|Reward|Distillation)Config")
"""Calls that configure a trainer of TRL."""
_STRATEGIES = frozenset({"FSDPStrategy", "DDPStrategy", "DeepSpeedStrategy", "ModelParallelStrategy"})
_CALLS = frozenset(
    {
        "Accelerator",
        "DeepSpeedPlugin",
        "FSDP",
        "FullyShardedDataParallel",
        "FullyShardedDataParallelPlugin",
        "GradScaler",
        "MixedPrecision",
        "ShardedGradScaler",
        "deepspeed.initialize",
        "trainer.evaluate",
        "trainer.predict",
        "trainer.train",
        "enable_wrap",
        "wrap",
    }
)
_OPTIMIZER = re.compile(r"(?:torch\.)?optim\.[A-Z]\w+")
_TRAINER = frozenset({"strategy", "devices", "num_nodes", "accelerator", "precision", "gpus", "replace_sampler_ddp"})
"""Arguments that only Lightning's Trainer has."""
_HINT = re.compile(
    r"\b(?:\w*TrainingArguments|\w*Strategy|Trainer|Accelerator|DeepSpeedPlugin|initialize|FSDP|MixedPrecision"
    r"|FullyShardedDataParallel\w*|\w*GradScaler|wrap|[A-Z]\w+Config)\s*\("
)
"""Cheap test that comes before the parser."""
SPREAD = "**"
"""Name under which `**kwargs` is kept: other arguments may be hidden in it."""


def read_python(source: Source, text: str) -> list[ConfigPart]:
    """Return the configuring calls of a script, in order.

    Raises:
        UnreadableConfigError: it is no Python that this interpreter can parse.
    """
    if _HINT.search(text) is None:
        return []
    try:
        tree = parse_python(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        where = f"line {line}: " if line else ""
        raise UnreadableConfigError("not-python", f"{where}{getattr(error, 'msg', None) or 'unreadable'}") from None
    nodes = list(ast.walk(tree))
    if len(nodes) > 10 * MAX_NODES:
        raise UnreadableConfigError("too-large-config", f"more than {10 * MAX_NODES} nodes")
    imports = frozenset(_imports(nodes))
    origins = {a.asname or a.name: n.module or "." for n in nodes if isinstance(n, ast.ImportFrom) for a in n.names}
    about = _about(nodes)
    calls = sorted(
        (node for node in nodes if isinstance(node, ast.Call)), key=lambda node: (node.lineno, node.col_offset)
    )
    parts: list[ConfigPart] = []
    for call in calls:
        kind, name = _kind(call, origins)
        if kind is not None:
            targets, inside = about.get(id(call), ((), 0))
            parts.append(_part(kind, name, call, source, {"imports": imports, "targets": targets, "inside": inside}))
    return parts


def _about(nodes: list[ast.AST]) -> dict[int, tuple[tuple[str, ...], int]]:
    """Return for each call the names that it is assigned to, and the line of the innermost function around it."""
    names = {id(n.value): tuple(_name(t) for t in n.targets) for n in nodes if isinstance(n, ast.Assign)}
    found: dict[int, tuple[tuple[str, ...], int]] = {}
    for outer in nodes:  # breadth first: inner functions come later
        if isinstance(outer, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef)):
            line = getattr(outer, "lineno", 0)
            found |= {id(n): (names.get(id(n), ()), line) for n in ast.walk(outer) if isinstance(n, ast.Call)}
    return found


def _imports(nodes: list[ast.AST]) -> list[str]:
    found: list[str] = []
    for node in nodes:
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.append(node.module)
    return found


def _name(node: ast.expr) -> str:
    """Return a dotted name; of attributes of anything else, such as of a call, the attributes."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.append(node.id)
    return ".".join(reversed(parts))


def _kind(call: ast.Call, origins: Mapping[str, str]) -> tuple[Kind | None, str]:
    full = _name(call.func)
    name = full.rpartition(".")[2]
    if name.endswith(_ARGUMENTS):
        return "training-arguments", name
    if _TRL.fullmatch(name) and origins.get(full, "trl").startswith("trl"):
        return "trl", name
    if name in _STRATEGIES:
        return "lightning-strategy", name
    given = {keyword.arg for keyword in call.keywords}
    others = full in origins and not origins[full].startswith(("lightning", "pytorch_lightning"))
    optimizer = _OPTIMIZER.fullmatch(f"{origins.get(full, '')}.{full}".lstrip("."))
    if name == "Trainer" and not others and (given & _TRAINER or full in {"pl.Trainer", "L.Trainer"}):
        return "lightning-trainer", name
    if name in _CALLS or full in _CALLS:
        return "call", full if full in _CALLS else name
    return ("call", f"torch.optim.{name}") if optimizer else (None, name)


def _part(kind: Kind, name: str, call: ast.Call, source: Source, extra: dict[str, Any]) -> ConfigPart:
    root: dict[str, ConfigValue] = {}
    for keyword in call.keywords:
        key = keyword.arg or SPREAD
        item = _item(keyword.value)
        root[key] = ConfigValue(value=item.value, line=keyword.value.lineno, text=item.text, quoted=item.quoted)
    for index, argument in enumerate(call.args):
        key = SPREAD if isinstance(argument, ast.Starred) else f"#{index}"
        root[key] = _item(argument)
    return ConfigPart(kind=kind, source=source, root=root, line=call.lineno, name=name, extra=extra)


def _item(node: ast.expr) -> ConfigValue:
    line = node.lineno
    if isinstance(node, ast.Constant):
        value: Any = node.value if isinstance(node.value, (str, int, float, type(None))) else UNKNOWN
        return ConfigValue(value=value, line=line, text=str(node.value)[:120], quoted=isinstance(node.value, str))
    if isinstance(node, (ast.List, ast.Tuple)):
        return ConfigValue(value=tuple(_item(element) for element in node.elts), line=line, text=_typed(node))
    if isinstance(node, ast.Dict):
        return ConfigValue(value=_dict(node), line=line, text=_typed(node))
    if isinstance(node, ast.Call) and _name(node.func) == "dict" and not node.args:
        named = {word.arg or SPREAD: _item(word.value) for word in node.keywords}
        return ConfigValue(value=named, line=line, text=_typed(node))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value = node.operand.value
        return ConfigValue(value=-value if isinstance(value, (int, float)) else UNKNOWN, line=line, text=_typed(node))
    return ConfigValue(value=UNKNOWN, line=line, text=_typed(node))


def _dict(node: ast.Dict) -> dict[str, ConfigValue]:
    found: dict[str, ConfigValue] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        name = str(key.value) if isinstance(key, ast.Constant) else SPREAD
        item = _item(value)
        line = key.lineno if key is not None else item.line
        found[name] = ConfigValue(value=item.value, line=line, text=item.text, quoted=item.quoted)
    return found


def _typed(node: ast.expr) -> str:
    try:
        return " ".join(ast.unparse(node).split())[:120]
    except (ValueError, RecursionError):
        return ""
