"""Whether a condition of the catalogue holds for a configuration, and which of its settings show it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from distkb.catalogue.conditions import Condition
from distkb.evidence.readers.configs.item import UNKNOWN, ConfigPart, ConfigValue


def items(part: ConfigPart, path: str) -> list[ConfigValue]:
    """Return what a path leads to: one setting, or each item of a list."""
    found = [ConfigValue(value=part.root, line=part.line)]
    for name in path.rstrip("#").split("."):
        inner = (item.value.get(name.removesuffix("[]").removesuffix("{}")) for item in found if _is_block(item))
        found = [item for item in inner if item is not None]
        if name.endswith("[]"):
            found = [entry for item in found for entry in (item.value if isinstance(item.value, tuple) else (item,))]
        if name.endswith("{}"):
            found = [ConfigValue(value=key, line=entry.line) for item in found if _is_block(item)
                     for key, entry in item.value.items()]  # fmt: skip
    return found


def holds(condition: Condition, part: ConfigPart, *, in_doubt: bool = False) -> bool:
    """Whether it holds; `in_doubt` is the answer where only running the program would tell."""
    found = [item for path in condition.paths for item in items(part, path)]
    if any(item.value is UNKNOWN for item in found):
        return in_doubt
    return _holds(condition, part, found) is not condition.negated


def _holds(condition: Condition, part: ConfigPart, found: list[ConfigValue]) -> bool:
    written = [item for item in found if item.value is not None]
    if condition.operator in {">", "<", "%"}:
        return _compare(condition, part)
    if condition.operator == "<>":
        return _differ(condition, part, written)
    return any(_TESTS[condition.operator](item, _wanted(condition)) for item in written)


def _compare(condition: Condition, part: ConfigPart) -> bool:
    amount = math.prod(_amount(part, path) for path in condition.paths)
    if condition.operator == "%":
        other = math.prod(_amount(part, path) for path in condition.values[0].split("*"))
        return bool(other >= 1 and amount % other > 0)
    limit = float(condition.values[0])
    return amount > limit if condition.operator == ">" else amount < limit


def _amount(part: ConfigPart, path: str) -> float:
    """Return a number, or how many there are; what is no number compares with nothing."""
    found = items(part, path)
    if path.endswith("#"):
        return len(found[0].value) if found and isinstance(found[0].value, (tuple, Mapping)) else math.nan
    value = found[0].value if found else None
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return math.nan
    try:
        return float(value)
    except ValueError:
        return math.nan


def _differ(condition: Condition, part: ConfigPart, written: list[ConfigValue]) -> bool:
    if condition.paths[0].endswith("#"):
        first, second = _amount(part, condition.paths[0]), _amount(part, condition.values[0])
        return not math.isnan(first + second) and first != second
    others = [item for item in items(part, condition.values[0]) if item.value is not None and _is_on(item)]
    return any(set(_words(item)).isdisjoint(_words(other)) for item in written if _is_on(item) for other in others)


def _is_block(item: ConfigValue) -> bool:
    return isinstance(item.value, Mapping)


def _is_on(item: ConfigValue) -> bool:
    """Whether a value switches something on as Python has it: neither false, zero nor empty; `"no"` is a word."""
    return bool(item.value)


def _words(item: ConfigValue) -> Iterator[str]:
    """Yield what a value says, or each item of a list, in lower case; yes and no in one spelling."""
    for value in (entry.value for entry in item.value) if isinstance(item.value, tuple) else (item.value,):
        yield str(value).lower()


def _wanted(condition: Condition) -> tuple[str, ...]:
    return tuple(value.lower() for value in condition.values)


def _is_other(item: ConfigValue, kind: str) -> bool:
    """Whether a value is of another kind than it should be."""
    if kind == "block":
        return not _is_block(item)
    if kind == "number":
        return not isinstance(item.value, (int, float)) and item.value != "auto"
    if not isinstance(item.value, str):
        return False
    try:
        re.compile(item.value)
    except (re.error, RecursionError, OverflowError):
        return True
    return False


_TESTS: Final[dict[str, Callable[[ConfigValue, tuple[str, ...]], bool]]] = {
    "on": lambda item, _: _is_on(item),
    "?": lambda _, __: True,
    "=": lambda item, wanted: any(word in wanted for word in _words(item)),
    "!=": lambda item, wanted: any(word not in wanted for word in _words(item)),
    "~": lambda item, wanted: any(value in word for word in _words(item) for value in wanted),
    "^=": lambda item, wanted: any(word.startswith(wanted) for word in _words(item)),
    "!": lambda item, wanted: _is_other(item, wanted[0]),
}
