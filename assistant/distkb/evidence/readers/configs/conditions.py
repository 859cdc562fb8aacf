"""Whether a condition of the catalogue holds for a configuration, and which of its settings show it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec

from distkb.catalogue.conditions import Condition, is_number, is_pattern
from distkb.evidence.readers.configs.item import UNKNOWN, ConfigPart, ConfigValue


def items(part: ConfigPart, path: str) -> list[ConfigValue]:
    """Return what a path leads to: one setting, or each item of a list."""
    found = [ConfigValue(value=part.root, line=part.line)]
    path, _, piece = path.rstrip("#").partition(":")
    names = path.split(".")
    for place, name in enumerate(names, 1):
        inner = (_inside(item, name.removesuffix("{}").removesuffix("[]")) for item in found)
        found = [item for item in inner if item is not None]
        if name.removesuffix("{}").endswith("[]"):
            found = [entry for item in found for entry in (item.value if isinstance(item.value, tuple) else (item,))]
        if name.endswith("{}"):
            inside = [pair for item in found if _is_block(item) for pair in item.value.items()]
            is_last = place == len(names)
            found = [ConfigValue(value=key, line=entry.line) if is_last else entry for key, entry in inside]
    return [one for item in found if (one := _piece(item, int(piece))) is not None] if piece else found


def _piece(item: ConfigValue, number: int) -> ConfigValue | None:
    """Return one of the pieces between the colons of a text."""
    if item.value is UNKNOWN or item.value is None:
        return item
    pieces = str(item.value).split(":")
    return msgspec.structs.replace(item, value=pieces[number]) if number < len(pieces) else None


def _inside(item: ConfigValue, name: str) -> ConfigValue | None:
    """Return one name of a block; unknown where the block is, or where it takes in one that is (`<<: *base`)."""
    if item.value is UNKNOWN:
        return item
    if not isinstance(item.value, Mapping):
        return None
    merged: ConfigValue | None = item.value.get("<<")
    found: ConfigValue | None = item.value.get(name)
    return merged if found is None and merged is not None and merged.value is UNKNOWN else found


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
    if condition.operator == "=" and condition.values == ("null",):
        return len(written) < len(found)
    return any(_TESTS[condition.operator](item, _wanted(condition)) for item in written)


def _compare(condition: Condition, part: ConfigPart) -> bool:
    amount = math.prod(_amount(part, path) for path in condition.paths)
    limit = condition.values[0]
    other = float(limit) if is_number(limit) else math.prod(_amount(part, path) for path in limit.split("*"))
    if condition.operator == "%":
        return other > 0 and math.isfinite(amount) and not _is_whole(amount / other)
    return amount > other if condition.operator == ">" else amount < other


def _is_whole(amount: float) -> bool:
    """Whether a number is whole but for what division leaves over: `0.3 / 0.1` is 2.9999999999999996."""
    return abs(amount - round(amount)) < 1e-6


def _amount(part: ConfigPart, path: str) -> float:
    """Return a number, or how many there are; what is no number compares with nothing."""
    found = items(part, path)
    if path.endswith("#") and "[]." in path:
        return sum(item.value is not None for item in found)
    value = found[0].value if found else None
    if path.endswith("#"):
        several = value.split(",") if isinstance(value, str) else value
        return len(several) if isinstance(several, (list, tuple, Mapping)) else math.nan
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return math.nan
    try:
        return float(value)
    except ValueError:
        return math.nan


def _differ(condition: Condition, part: ConfigPart, written: list[ConfigValue]) -> bool:
    first, second = _amount(part, condition.paths[0]), _amount(part, condition.values[0])
    if condition.paths[0].endswith("#"):
        return not math.isnan(first + second) and first != second
    if not math.isnan(first + second):
        return first != second and bool(first and second)
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
    return condition.values if condition.operator == "!" else tuple(value.lower() for value in condition.values)


def _is_other(item: ConfigValue, kind: str) -> bool:
    """Whether a value is of another kind than it should be."""
    if is_pattern(kind):
        return not isinstance(item.value, (Mapping, tuple)) and re.fullmatch(kind[1:-1], str(item.value)) is None
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
