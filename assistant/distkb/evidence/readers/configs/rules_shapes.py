"""Values of a kind that the tool does not take: `bf16: true`, `"5e8"`.

What each tool takes is data, in `kb/settings/`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache

from distkb.catalogue.settings import Block, Refusal
from distkb.catalogue.shapes import Shape, parse
from distkb.evidence.readers.configs import known
from distkb.evidence.readers.configs.item import UNKNOWN, ConfigPart, ConfigValue, truth
from distkb.evidence.readers.configs.job import ConfigContext, ConfigFinding, ConfigRule, hit, short

_parsed = lru_cache(maxsize=None)(parse)


def misshapen(part: ConfigPart, job: ConfigContext) -> Iterator[ConfigFinding]:
    """Yield each value that is of no kind that its key takes."""
    for refusal in job.refusals:
        if part.kind not in refusal.kinds:
            continue
        converts = _converts(refusal, part, job)
        for block in refusal.blocks:
            for name, item in written(part, block).items():
                shapes = _parsed(block.keys.get(name, "any"))
                if shapes and not any(_fits(item, shape, converts=converts) for shape in shapes):
                    key = ".".join(filter(None, (block.path, name)))
                    yield hit(
                        f"{refusal.findings}-wrong-type", part, item,
                        tool=refusal.tool, key=f"{key}: {_shown(item)}", wanted=block.keys[name].replace("|", " | "),
                    )  # fmt: skip


def written(part: ConfigPart, block: Block) -> Mapping[str, ConfigValue]:
    """Return what a file has in a block, by name."""
    value = part.value(*block.path.split(".")) if block.path else part.root
    return value if isinstance(value, Mapping) else {}


def _converts(refusal: Refusal, part: ConfigPart, job: ConfigContext) -> bool:
    """Whether texts are taken for numbers: also where names show that another parser reads the file first."""
    if refusal.converts or any(o.kind == "llama-factory" and o.source is part.source for o in job.parts):
        return True
    return not part.name and not set(part.root) <= (known.TRAINING_ARGUMENTS | known.ARGUMENTS_OLD)


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
    if shape.lowest is None:
        return True
    return amount > shape.lowest if shape.exclusive else amount >= shape.lowest


RULES = (
    ConfigRule(ids=("config.deepspeed-wrong-type",), kinds=("deepspeed",), check=misshapen),
    ConfigRule(ids=("config.trainer-wrong-type",), kinds=("training-arguments", "accelerate"), check=misshapen),
)
