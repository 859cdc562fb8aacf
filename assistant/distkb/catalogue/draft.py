"""A draft: an entry that may be written in one language so far, and is marked wherever its title stands."""

from __future__ import annotations

from typing import Any, Final

MARKS: Final = {"en": "[draft]", "ko": "[초안]"}


def is_draft(value: Any) -> bool:
    """Say whether what an entry's file holds calls itself a draft."""
    return isinstance(value, dict) and value.get("status") == "draft"


def completed(entry: dict[str, Any]) -> dict[str, Any]:
    """Return a draft whose texts stand in for those of the language that is missing, with the mark in its title."""
    whole: dict[str, Any] = _in_both(entry)
    title = whole.get("title")
    if isinstance(title, dict):
        whole["title"] = {
            name: f"{MARKS[name]} {text}" if name in MARKS and isinstance(text, str) else text
            for name, text in title.items()
        }
    return whole


def _in_both(value: Any) -> Any:
    if isinstance(value, list):
        return [_in_both(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1 and (only := next(iter(value))) in MARKS and isinstance(value[only], str):
        return dict.fromkeys(MARKS, value[only])
    return {name: _in_both(item) for name, item in value.items()}
