"""How the screen speaks: every widget says its own sentences, and says them anew when the language changes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from rich.cells import cell_len, set_cell_size
from textual.app import App
from textual.content import Content
from textual.dom import DOMNode
from textual.screen import Screen

from distkb.evidence.text.clean import plain
from distkb.report.layout import wrap

CODE = "bold $accent"
"""How code, commands and names stand out in running text."""

if TYPE_CHECKING:
    from textual.geometry import Size

    from distkb.locale import Say


def say_of(node: DOMNode) -> Say:
    """Return what says sentences in the language of the app that a widget or screen belongs to."""
    return cast("Say", node.app.say)  # type: ignore[attr-defined]


def speak_all(app: App[int]) -> None:
    """Have every widget of every open screen say its sentences anew: first in front, then behind."""
    *behind, front = app.screen_stack
    _speak(front)
    for screen in behind:
        app.screen.call_after_refresh(_speak, screen)


def _speak(screen: Screen[object]) -> None:
    for node in (screen, *screen.walk_children()):
        speak = getattr(node, "speak", None)
        if callable(speak):
            speak()


def fit(text: str, columns: int) -> str:
    """Return untrusted text on one line of at most `columns` cells, with an ellipsis where something is cut."""
    text = plain(text[: 8 * max(1, columns)])
    if cell_len(text) <= columns:
        return text
    return set_cell_size(text, max(1, columns) - 1).rstrip() + "…"


def beginning(text: str, size: Size) -> str:
    """Return as much of a text as may stand above everything else on a screen of this size."""
    most = 3 if size.height < 24 else 4 if size.height < 34 else 6
    lines = wrap(text, max(20, size.width - 2))
    return text if len(lines) <= most else "\n".join([*lines[: most - 1], fit(f"{lines[most - 1]} …", size.width - 2)])


def shown(text: str) -> Content:
    """Return untrusted text as content: no markup, no escape sequences, nothing that moves the cursor."""
    return Content(plain(text))


def prose(text: str) -> Content:
    """Return a sentence of the catalogue, what stands in backticks shown as code."""
    parts = re.split(r"`([^`\n]+)`", text)
    return Content.assemble(*(part if place % 2 == 0 else (part, CODE) for place, part in enumerate(parts)))
