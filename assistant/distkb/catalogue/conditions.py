"""How a condition on the settings of one file is written: `adapter=qlora`, `not deepspeed`, `datasets[].type~chat`.

| Written | Holds where |
|---|---|
| `name` | it is written and switches something on |
| `name?` | it is written, with any value but null |
| `name=a|b`, `name!=a|b` | it is written, and its value is one of these, or none of them; case counts for nothing |
| `name=null` | it is written, and empty |
| `name~a|b`, `name^=a` | its text contains one of these, or begins so |
| `name>1`, `name<1`, `name>other`, `name<other` | it is a number above, or below |
| `name%other`, `name%2` | both are numbers and the first is no multiple of the second |
| `name<>other` | both are written and differ |
| `name!regex`, `name!block` | it is no regular expression, or no block of further names |
| `name!number` | it is neither a number nor `auto` |
| `name!/pattern/` | the regular expression does not match the whole of its text |

`not` in front turns any of them round. A name is a path: `fsdp_config.offload_params`; `[]` behind it stands for any
item of a list, `{}` for any key of a block, or inside a path for any of its values, `#` for how many there are
(between the commas of a text; of `datasets[].fraction#`, how many items have it), `:0` for the first of the pieces
between colons; `a*b` is a product.
"""

from __future__ import annotations

import re
from typing import Final, Literal, get_args

import msgspec

Operator = Literal["on", "?", "!=", "<>", "^=", "!", "=", "~", ">", "<", "%"]
_OPERATORS: Final = ("!=", "<>", "^=", "!", "=", "~", ">", "<", "%")
_PATH: Final = re.compile(r"[A-Za-z_][\w-]*(?:\[\])?(?:\{\})?(?:\.[A-Za-z_][\w-]*(?:\[\])?(?:\{\})?)*(?:#|:\d)?")
_WRITTEN: Final = re.compile(r"(?P<left>[\w.\[\]{}#*:-]+?)(?:(?P<operator>" + "|".join(
    map(re.escape, _OPERATORS)
) + r")(?P<right>.*)|(?P<written>\?))?", re.DOTALL)  # fmt: skip


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """A condition as its parts."""

    paths: tuple[str, ...]
    """What it is about; several are multiplied."""
    operator: Operator = "on"
    values: tuple[str, ...] = ()
    """What it is compared with: values, a number, or the path of another setting."""
    negated: bool = False


def parse(text: str) -> Condition | None:
    """Return a condition, or None where the text is none."""
    rest = text.removeprefix("not ")
    found = _WRITTEN.fullmatch(rest)
    if found is None:
        return None
    paths = tuple(found["left"].split("*"))
    operator = found["operator"] or found["written"] or "on"
    right = found["right"] or ""
    values = (right,) if is_pattern(right) else tuple(right.split("|")) if found["operator"] else ()
    condition = Condition(paths=paths, operator=_named(operator), values=values, negated=rest != text)
    return condition if _is_whole(condition) else None


def is_number(text: str) -> bool:
    """Whether what a condition compares with is a number rather than the path of a setting."""
    return re.fullmatch(r"-?\d+(?:\.\d+)?", text) is not None


def is_pattern(text: str) -> bool:
    """Whether what stands behind `!` is a regular expression between slashes."""
    return len(text) > 2 and text[0] == text[-1] == "/"


def _named(operator: str) -> Operator:
    return next(name for name in get_args(Operator) if name == operator)


def _is_whole(condition: Condition) -> bool:
    """Whether every path is one, and what it is compared with is of its kind."""
    if not all(_PATH.fullmatch(path) for path in condition.paths):
        return False
    first = condition.values[0] if condition.values else ""
    if condition.operator in {"on", "?"}:
        return not first and len(condition.paths) == 1
    if condition.operator == "!":
        return len(condition.values) == 1 and (first in {"regex", "block", "number"} or _compiles(first))
    if condition.operator in {">", "<", "%"} and is_number(first):
        return len(condition.values) == 1
    if condition.operator in {"%", "<>", ">", "<"}:
        return all(_PATH.fullmatch(path) for path in first.split("*")) and len(condition.values) == 1
    return all(condition.values) and len(condition.paths) == 1


def _compiles(text: str) -> bool:
    if not is_pattern(text):
        return False
    try:
        re.compile(text[1:-1])
    except re.error:
        return False
    return True
