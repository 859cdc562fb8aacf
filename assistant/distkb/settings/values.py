"""Whether a value can be what a setting expects."""

from __future__ import annotations

import re

from distkb.catalogue.settings import Setting

BOOLEANS = ("1", "0", "true", "false", "yes", "no", "y", "n", "t", "f")
"""What torch's own reader of yes-or-no variables takes, in any case; anything else makes it raise."""

_LONGEST = {"s": 2 * 86400.0, "min": 600.0}
"""From here on an amount looks like one of the next smaller unit: nobody waits two days or ten hours on purpose."""
_SHORTEST_MS = 100.0
"""Below this an amount of milliseconds looks like seconds."""
_SECONDS = {"ms": 0.001, "s": 1.0, "min": 60.0}


def fault(setting: Setting, value: str) -> str | None:
    """Return what would be allowed where the value is not; None where it may be right."""
    if setting.type == "list":
        return _list_fault(setting, value)
    if setting.allowed:
        allowed = {item.lower() for item in setting.allowed}
        return None if value.lower() in allowed else ", ".join(setting.allowed)
    if setting.type == "bool":
        return None if value.lower() in BOOLEANS else "1, 0"
    if setting.type in ("int", "duration"):
        return None if _is_integer(value) else "1, 2, 3, …"
    if setting.type == "float":
        return None if number(value) is not None else "0.1, 1, 2, …"
    return None


def _list_fault(setting: Setting, value: str) -> str | None:
    if not setting.allowed:
        return None
    allowed = {item.lower() for item in setting.allowed}
    items = [item.strip().lower().lstrip("^") for item in value.split(",")]
    return None if all(item in allowed for item in items if item) else ", ".join(setting.allowed)


def unlikely_amount(setting: Setting, value: str) -> str | None:
    """Return how long a duration is, where that suggests that it was meant in another unit: `20h`, `6ms`."""
    amount = number(value)
    if setting.unit is None or amount is None or amount <= 0:
        return None
    if setting.unit == "ms":
        return f"{amount:g} ms" if amount < _SHORTEST_MS else None
    if amount < _LONGEST[setting.unit]:
        return None
    hours = amount * _SECONDS[setting.unit] / 3600
    return f"{hours:.0f} h" if hours < 10_000 else f"{hours / 24:.0f} d"


def number(text: str) -> float | None:
    """Return a plain decimal number; None for anything else, infinity included."""
    if not re.fullmatch(r"\s*[+-]?[0-9]{1,15}(?:\.[0-9]{0,15})?\s*", text, re.ASCII):
        return None
    return float(text)


def _is_integer(text: str) -> bool:
    return re.fullmatch(r"[+-]?(?:[0-9]+|0[xX][0-9a-fA-F]+)", text, re.ASCII) is not None
