"""Finds a setting by what a person types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from distkb.catalogue.settings import KnownNames, Setting

Item = TypeVar("Item")


def find(settings: Iterable[Setting], name: str) -> list[Setting]:
    """Return the settings with this id, or, where none has it, all with this name; case does not matter.

    Flags are also found without their dashes and with underscores in place of hyphens, as torchrun reads them.
    """
    wanted = name.strip().lower()
    known = list(settings)
    by_id = [setting for setting in known if setting.id.lower() == wanted]
    if by_id:
        return by_id
    plain = _plain(wanted)
    return [setting for setting in known if wanted == setting.name.lower() or plain in _forms(setting)]


def _forms(setting: Setting) -> set[str]:
    if setting.kind == "variable":
        return {_plain(setting.name.lower())}
    return {_plain(setting.id.lower()), _plain(setting.name.lower())}


def _plain(name: str) -> str:
    return name.strip("-$ ").replace("-", "_").removesuffix("=")


def known_name(names: Iterable[KnownNames], name: str) -> KnownNames | None:
    """Return the list that holds a variable's name; case does not matter. The newest list wins."""
    wanted = name.strip().strip("$").upper()
    found = [group for group in names if wanted in group.names]
    found.sort(key=lambda group: group.until is None)
    return found[-1] if found else None


def nearest(settings: Sequence[Setting], names: Sequence[KnownNames], name: str) -> str | None:
    """Return the name that a person may have meant, by edit distance; None where nothing is near."""
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    if len(name) > 200:
        return None
    wanted = name.strip().upper()
    choices = dict.fromkeys(setting.name for setting in settings)
    choices |= dict.fromkeys(n for group in names for n in group.names if not n.endswith("*"))
    upper = {choice.upper(): choice for choice in choices}
    most = max(1, len(wanted) // 5)
    found = process.extractOne(wanted, list(upper), scorer=OSA.distance, score_cutoff=most)
    return upper[found[0]] if found else None
