"""Which keys work here, and what the widget with the focus is for."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from distkb.report.layout import pad, width
from distkb.tui.dialog import Dialog
from distkb.tui.keys import PREFIX, KeyBar, key, shown_name
from distkb.tui.language import prose, say_of

if TYPE_CHECKING:
    from textual.widget import Widget

    from distkb.tui.app import DistkbApp


class HelpScreen(Dialog[None]):
    """Explains the screen below it, the focused widget first."""

    app: DistkbApp
    BINDINGS: ClassVar[list[BindingType]] = [key("escape,f1,question_mark", "close", "back")]

    def __init__(self, below: Screen[object]) -> None:
        """Take the screen to explain."""
        super().__init__()
        self._below = below

    def compose(self) -> ComposeResult:
        """Lay out the text."""
        with VerticalScroll(id="help-box"):
            yield Static(id="help-text")
        yield KeyBar()

    def on_mount(self) -> None:
        """Write the help."""
        self.speak()

    def speak(self) -> None:
        """Write the help in the language of the app."""
        say = say_of(self)
        parts = [prose(say(name)) for name in self._about(self._below.focused)]
        parts.append(Content.styled(f"\n{say('tui.help.keys')}", "bold underline"))
        found: dict[str, list[str]] = {}
        for active in self._below.active_bindings.values():
            if active.enabled and active.binding.description.startswith(PREFIX):
                names = found.setdefault(say(active.binding.description), [])
                names.append(shown_name(active.binding))
        rows = [(", ".join(dict.fromkeys(names)), text) for text, names in found.items()]
        rows += [(keys, say(f"tui.help.{name}")) for keys, name in _EVERYWHERE]
        column = max(width(keys) for keys, _ in rows)
        for keys, text in dict.fromkeys(rows):
            parts.append(Content.assemble((f"  {pad(keys, column)}  ", "bold $accent"), text))
        self.query_one("#help-text", Static).update(Content("\n").join(parts))

    def _about(self, focused: Widget | None) -> list[str]:
        """Return the sentences about the focused widget, those it stands in, and the screen."""
        say = say_of(self)
        names: list[str] = []
        node = focused
        while node is not None and node is not self._below:
            if node.id:
                names.append(f"tui.help.{node.id}")
            parent = node.parent
            node = parent if parent is not self._below and hasattr(parent, "focusable") else None  # type: ignore[assignment]
        names.append(f"tui.help.screen.{type(self._below).__name__.removesuffix('Screen').lower()}")
        return [name for name in names if say.knows(name)]

    def action_close(self) -> None:
        """Go back."""
        self.dismiss(None)


_EVERYWHERE = (("Tab", "tab"), ("↑ ↓", "arrows"), ("Enter", "enter"), ("^P", "palette"))
"""Keys that are Textual's own."""
