"""Our names in Textual's classes: none may hide one of its own by accident."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re

import pytest

import distkb.tui
import distkb.tui.screens
import distkb.tui.widgets

MEANT = {
    "compose",
    "on_mount",
    "on_resize",
    "on_unmount",
    "run_action",
    "check_action",
    "get_system_commands",
    "_fatal_error",
}
"""Methods that Textual asks to be overridden."""
MEANT_ATTRIBUTES = {"BINDINGS", "DEFAULT_CSS", "CSS_PATH", "TITLE", "ENABLE_COMMAND_PALETTE", "COMMANDS", "app"}


def modules() -> list[str]:
    """Every module of the screen."""
    packages = (distkb.tui, distkb.tui.screens, distkb.tui.widgets)
    return [f"{p.__name__}.{m.name}" for p in packages for m in pkgutil.iter_modules(p.__path__) if not m.ispkg]


@pytest.mark.parametrize("name", modules())
def test_no_name_of_textual_is_hidden_by_accident(name: str) -> None:
    """A private method of ours with the name of one of Textual's breaks it in ways that no type checker sees."""
    for _, kind in inspect.getmembers(importlib.import_module(name), inspect.isclass):
        if kind.__module__ != name:
            continue
        bases = [base for base in kind.__mro__[1:] if base.__module__.startswith("textual")]
        theirs = {attribute for base in bases for attribute in vars(base)}
        ours = {a for a in vars(kind) if not a.startswith("__")} - MEANT - MEANT_ATTRIBUTES
        ours = {
            a
            for a in ours
            if not a.startswith(("_abc", "_css", "_merged", "_decorated", "_inherit", "_computes", "_reactives"))
        }
        hidden = {a for a in ours & theirs if not a.startswith("action_") or callable(getattr(kind, a, None))}
        assert not {a for a in hidden if a.startswith("_")}, f"{kind.__name__}: {sorted(hidden)}"


@pytest.mark.parametrize("name", modules())
def test_no_attribute_of_textual_is_overwritten(name: str) -> None:
    """An instance attribute of ours with the name of one of Textual's (`_running`) stops its machinery silently."""
    for _, kind in inspect.getmembers(importlib.import_module(name), inspect.isclass):
        if kind.__module__ != name:
            continue
        bases = [base for base in kind.__mro__[1:] if base.__module__.startswith("textual")]
        theirs = {attribute for base in bases for attribute in _assigned(base)}
        assert not _assigned(kind) & theirs, f"{kind.__name__}: {sorted(_assigned(kind) & theirs)}"


def _assigned(kind: type) -> set[str]:
    return set(re.findall(r"\bself\.(_\w+)\s*(?::[^=\n]+)?=[^=]", inspect.getsource(kind)))
