"""Finds the calls of a Python script that configure distributed training, without running it.

Only what is written out is read: constants, lists and dicts. A variable, or `**kwargs`, is an unknown value.
"""

from __future__ import annotations

import ast
import re
import sys
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
_KNOWN = {
    "transformers.Trainer": (("transformers", "trl"), ("Trainer",)),
    "deepspeed.PipelineModule": (("deepspeed",), (".PipelineModule", ".DualPipeVModule")),
}
"""Names for classes and what scripts derive from them: the packages they come from, and how their full names end."""
_OPTIMIZER = re.compile(r"torch\.optim\.[A-Z]\w+")
_ALWAYS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.With, ast.AsyncWith)
_NEVER = sys.maxsize
_TRAINER = frozenset({"strategy", "devices", "num_nodes", "accelerator", "precision", "gpus", "replace_sampler_ddp"})
"""Arguments that only Lightning's Trainer has."""
_HINT = re.compile(
    r"\b(?:\w*TrainingArguments|\w*Strategy|\w*Trainer|Accelerator|DeepSpeedPlugin|initialize|FSDP|MixedPrecision"
    r"|FullyShardedDataParallel\w*|\w*GradScaler|wrap|[A-Z]\w+Config)\s*\("
    r"|\bclass \w+\([^)\n]{0,80}Trainer\b"
    r"|\breturn\b[^\n]{0,120}\boptim\.[A-Z]|\boptim\.[A-Z]\w*\s*\(|\bfrom torch\.optim import\b"
)
"""Cheap test that comes before the parser."""
_Settled = Mapping[int, tuple[int, tuple[str, ...]]]
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
    classes = _classes(nodes)
    settled, stores, inside = _settled(tree), _stores(nodes), _inside(tree)
    given_back = _given_back(nodes, settled, stores)
    calls = sorted(
        (node for node in nodes if isinstance(node, ast.Call)), key=lambda node: (node.lineno, node.col_offset)
    )
    parts: list[ConfigPart] = []
    for call in calls:
        kind, name = _kind(call, origins, classes)
        if kind is not None:
            line, targets = settled.get(id(call), (0, ()))
            until = min((at for one, at in stores if one in targets and at > line), default=_NEVER)
            extra = {"imports": imports, "inside": inside[id(call)], "targets": targets, "until": until}
            extra |= {"typed": _name(call.func), "gives": given_back.get(id(call), ""), "origins": origins}
            if name == "deepspeed.initialize":
                extra["made"] = _made_above(call, calls, settled, stores, inside)
            parts.append(_part(kind, name, call, source, extra))
    return parts


def _classes(nodes: list[ast.AST]) -> dict[str, str]:
    """Return the full names of what a script imports, and for its own classes those of the classes they derive from."""
    found: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            found |= {a.asname or a.name: f"{'.' * node.level}{node.module or ''}.{a.name}" for a in node.names}
        elif isinstance(node, ast.Import):
            found |= {a.asname: a.name for a in node.names if a.asname}
    for node in sorted((n for n in nodes if isinstance(n, ast.ClassDef)), key=lambda n: n.lineno):
        known = (_known(_full(_name(base), found)) for base in node.bases)
        found[node.name] = next((name for name in known if name in _KNOWN), None) or f".{node.name}"
    return found


def _full(name: str, classes: Mapping[str, str]) -> str:
    head, dot, rest = name.partition(".")
    return f"{classes.get(head, head)}{dot}{rest}"


def _settled(tree: ast.Module) -> dict[int, tuple[int, tuple[str, ...]]]:
    """Return the line and the names of what is assigned in no branch and in no loop, by the value."""
    found: dict[int, tuple[int, tuple[str, ...]]] = {}
    blocks: list[Any] = [tree]
    for block in blocks:
        for one in block.body:
            if isinstance(one, ast.Assign):
                found[id(one.value)] = one.lineno, tuple(_name(target) for target in one.targets)
            elif isinstance(one, _ALWAYS) or (isinstance(one, ast.If) and _is_main(one.test)):
                blocks.append(one)
    return found


def _given_back(nodes: list[ast.AST], settled: _Settled, stores: list[tuple[str, int]]) -> dict[int, str]:
    """Return the names of the functions that give back nothing but what one call makes, by the call."""
    found: dict[int, str] = {}
    for function in (node for node in nodes if isinstance(node, ast.FunctionDef)):
        below = list(ast.walk(function))
        ends = [node for node in below if isinstance(node, ast.Return)]
        value = ends[0].value if len(ends) == 1 and ends[0] is function.body[-1] else None
        if isinstance(value, ast.Call):
            found[id(value)] = function.name
        elif isinstance(value, ast.Name):
            made = [one for one in below if isinstance(one, ast.Call) and value.id in settled.get(id(one), (0, ()))[1]]
            kept = sum(name == value.id and function.lineno <= line <= value.lineno for name, line in stores) == 1
            found |= {id(one): function.name for one in made if kept}
    return found


def _made_above(
    call: ast.Call,
    calls: list[ast.Call],
    settled: _Settled,
    stores: list[tuple[str, int]],
    inside: Mapping[int, int],
) -> dict[str, str]:
    """Return what is called for each name that a call of the same function gave its value, and that has it still."""
    found: dict[str, str] = {}
    for one in calls:
        line, targets = settled.get(id(one), (0, ()))
        for name in targets if line < call.lineno and inside[id(one)] == inside[id(call)] else ():
            if not any(other == name and line < at < call.lineno for other, at in stores):
                found[name] = _name(one.func)
    return found


def _is_main(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and _name(test.left) == "__name__"


def _stores(nodes: list[ast.AST]) -> list[tuple[str, int]]:
    """Return what gets a value, with the lines."""
    names = (n for n in nodes if isinstance(n, (ast.Name, ast.Attribute)) and isinstance(n.ctx, ast.Store))
    return [(_name(name), name.lineno) for name in names]


def _inside(tree: ast.Module) -> dict[int, int]:
    """Return for each call the line of the innermost function around it, or 0."""
    found: dict[int, int] = {}
    queue: list[tuple[ast.AST, int]] = [(tree, 0)]
    for node, line in queue:
        if isinstance(node, ast.Call):
            found[id(node)] = line
        here = node.lineno if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) else line
        queue.extend((child, here) for child in ast.iter_child_nodes(node))
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


def _kind(call: ast.Call, origins: Mapping[str, str], classes: Mapping[str, str]) -> tuple[Kind | None, str]:
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
    if name == "Trainer" and not others and (given & _TRAINER or full in {"pl.Trainer", "L.Trainer"}):
        return "lightning-trainer", name
    if name in _CALLS or full in _CALLS:
        return "call", full if full in _CALLS else name
    known = _known(_full(full, classes))
    return ("call", known) if known else (None, name)


def _known(whole: str) -> str | None:
    """Return the name under which a call of a class is kept, by the class's full name."""
    if whole in _KNOWN or _OPTIMIZER.fullmatch(whole):
        return whole
    package = whole.partition(".")[0]
    return next((name for name, (roots, ends) in _KNOWN.items() if package in roots and whole.endswith(ends)), None)


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
