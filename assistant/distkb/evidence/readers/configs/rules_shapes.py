"""Values of a kind that the tool does not take: `bf16: true`, `"5e8"`.

What each tool takes is data, in `kb/settings/`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from distkb.catalogue.conditions import parse as parse_condition
from distkb.catalogue.settings import Block, Refusal
from distkb.catalogue.shapes import Shape, parse
from distkb.evidence.readers.configs import known
from distkb.evidence.readers.configs.conditions import holds, items
from distkb.evidence.readers.configs.item import UNKNOWN, ConfigPart, ConfigValue, truth
from distkb.evidence.readers.configs.job import ConfigContext, ConfigFinding, ConfigRule, hit, short

_parsed = lru_cache(maxsize=None)(parse)


def misshapen(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Yield each value that is of no kind that its key takes."""
    for refusal in job.refusals:
        if not is_about(refusal, part) or refusal.together:
            continue
        converts = _converts(refusal, part, job)
        for block in refusal.blocks:
            for name, item in (pair for names in written_each(part, block) for pair in names.items()):
                shapes = _parsed(block.keys.get(name, "any"))
                if shapes and not _fits_any(item, shapes, block, converts=converts):
                    yield _wrong(
                        part, refusal, ".".join(filter(None, (block.path, name))), item, shapes, block.keys[name]
                    )


def is_about(refusal: Refusal, part: ConfigPart) -> bool:
    """Whether what a tool refuses is about this part: its kind, and for a command its launcher."""
    return part.kind in refusal.kinds and (
        part.kind != "command" or not refusal.launchers or part.name in refusal.launchers
    )


def is_open_to_more(block: Block, part: ConfigPart) -> bool:
    """Whether a file sets something with which other keys may stand in a block."""
    conditions = (condition for text in block.unless if (condition := parse_condition(text)) is not None)
    return any(holds(condition, part, in_doubt=True) for condition in conditions)


def _fits_any(item: ConfigValue, shapes: Sequence[Shape], block: Block, *, converts: bool) -> bool:
    if item.value is None and not block.nulls:
        return any(shape.kind in {"any", "null"} for shape in shapes)
    return any(_fits(item, shape, converts=converts) for shape in shapes)


def _wrong(
    part: ConfigPart, refusal: Refusal, key: str, item: ConfigValue, shapes: Sequence[Shape], wanted: str
) -> ConfigFinding:
    shown = f"{key.replace('[]', '')}: {_shown(item)}"
    words = [shape.word for shape in shapes if shape.kind == "word"]
    if words and isinstance(item.value, str):
        return hit(
            f"{refusal.findings}-unknown-value", part, item, tool=refusal.tool, key=shown, allowed=", ".join(words)
        )
    alternatives = " | ".join(word.removeprefix("=") for word in wanted.split("|"))
    return hit(f"{refusal.findings}-wrong-type", part, item, tool=refusal.tool, key=shown, wanted=alternatives)


def written_each(part: ConfigPart, block: Block) -> list[Mapping[str, ConfigValue]]:
    """Return what a file has in a block, by name; several where the block stands for each item of a list."""
    if block.path is None:
        return [part.root]
    return [item.value for item in items(part, block.path) if isinstance(item.value, Mapping)]


def written(part: ConfigPart, block: Block) -> Mapping[str, ConfigValue]:
    """Return what a file has in a block, by name."""
    value = part.value(*block.path.split(".")) if block.path else part.root
    return value if isinstance(value, Mapping) else {}


def _converts(refusal: Refusal, part: ConfigPart, job: ConfigContext) -> bool:
    """Whether texts are taken for numbers: also where names show that another parser reads the file first."""
    if refusal.converts or any(o.kind == "llama-factory" and o.source is part.source for o in job.parts):
        return True
    has_others = not set(part.root) <= (known.TRAINING_ARGUMENTS | known.ARGUMENTS_OLD)
    return part.kind != "accelerate" and not part.name and has_others


def _shown(item: ConfigValue) -> str:
    if isinstance(item.value, (Mapping, tuple)):
        return "…"
    return f'"{short(item.value)}"' if isinstance(item.value, str) else short(item.shown)


def _fits(item: ConfigValue, shape: Shape, *, converts: bool) -> bool:
    """Whether a value is of a kind; what only running the program tells, null and DeepSpeed's `auto` always are."""
    value = item.value
    if value is None or value is UNKNOWN or value == "auto" or shape.kind == "any":
        return True
    if shape.kind in {"int", "number"}:
        return _is_number(value, shape, converts=converts)
    if shape.kind == "bool":
        return isinstance(value, bool) or (truth(value) is not None and (converts or not isinstance(value, str)))
    if shape.kind in {"flag", "null", "word"}:
        return value is True if shape.kind == "flag" else shape.kind == "word" and bool(value == shape.word)
    if shape.kind == "list" and isinstance(value, tuple):
        return all(_fits(entry, Shape(kind=shape.inner), converts=converts) for entry in value)
    return isinstance(value, {"text": str, "list": tuple, "block": Mapping}[shape.kind])


def _is_number(value: object, shape: Shape, *, converts: bool) -> bool:
    if isinstance(value, str) and not converts:
        return False
    if not isinstance(value, (int, float, str)):
        return False
    try:
        amount = float(int(value) if shape.kind == "int" and isinstance(value, str) else value)
    except (ValueError, OverflowError):
        return False
    if shape.kind == "int" and not (math.isinf(amount) or amount.is_integer()):
        return False
    low, high = (
        (-math.inf if shape.lowest is None else shape.lowest),
        (math.inf if shape.highest is None else shape.highest),
    )
    return (amount > low if shape.exclusive else not amount < low) and not amount > high


RULES = (
    ConfigRule(
        ids=("config.deepspeed-unknown-value", "config.deepspeed-wrong-type"), kinds=("deepspeed",), check=misshapen
    ),
    ConfigRule(
        ids=("config.trainer-unknown-value", "config.trainer-wrong-type"),
        kinds=("training-arguments", "accelerate", "axolotl", "llama-factory", "trl", "command"),
        check=misshapen,
    ),
)
