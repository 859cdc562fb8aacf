"""What every dialog has: the keys that hold on every screen, which Textual withholds from dialogs."""

from __future__ import annotations

from typing import ClassVar, Generic, TypeVar

from textual.binding import BindingType
from textual.screen import ModalScreen

from distkb.tui.keys import key

Result = TypeVar("Result")


class Dialog(ModalScreen[Result], Generic[Result]):
    """A screen above another one. Language, theme, help and quitting work in it as everywhere."""

    BINDINGS: ClassVar[list[BindingType]] = [
        key("ctrl+l", "app.toggle_language", "language"),
        key("ctrl+t", "app.toggle_theme", "theme", show=False),
        key("f1,question_mark", "app.help", "help"),
        key("ctrl+q", "app.quit", "quit"),
        key("q", "app.step_out", "leave", show=False),
    ]
