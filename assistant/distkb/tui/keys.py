"""The line of keys at the bottom, in the language of the app."""

from __future__ import annotations

from textual.binding import Binding
from textual.content import Content
from textual.keys import format_key
from textual.widgets import Static

from distkb.tui.voice import voice

PREFIX = "tui.key."
"""A binding's description is the key of a sentence."""

PINNED = ("tui.key.language", "tui.key.help")
"""Keys that are at the right end of the line on every screen, however narrow it is."""

QUIT = "tui.key.quit"
"""The last of the others: there are more interesting keys."""


def key(keys: str, action: str, name: str, *, show: bool = True, priority: bool = False) -> Binding:
    """Return a binding whose description is the sentence `tui.key.<name>`."""
    return Binding(keys, action, f"{PREFIX}{name}", show=show, priority=priority)


class KeyBar(Static):
    """Shows the keys that work now; as many as fit, the most particular first."""

    DEFAULT_CSS = """
    KeyBar { dock: bottom; height: 1; background: $panel; color: $text; padding: 0 1; }
    """

    def on_mount(self) -> None:
        """Follow the bindings of the screen."""
        self.screen.bindings_updated_signal.subscribe(self, lambda _screen: self.speak())
        self.speak()

    def speak(self) -> None:
        """Write the line."""
        rows = self._keys_now()
        ending = [self._part(name, description) for name, description in rows if description in PINNED]
        room = max(20, self.app.size.width) - 2 - sum(part.cell_length for part in ending)
        parts: list[Content] = []
        for name, description in rows:
            part = self._part(name, description)
            if description not in PINNED and part.cell_length <= room:
                parts.append(part)
                room -= part.cell_length
            elif description not in PINNED:
                break
        self.update(Content.assemble(*parts, " " * max(0, room + 2), *ending))

    def _part(self, name: str, description: str) -> Content:
        return Content.assemble((name, "bold $accent"), " ", voice(self)(description), "  ")

    def on_resize(self) -> None:
        """Show as many keys as the new width has room for."""
        self.speak()

    def _keys_now(self) -> list[tuple[str, str]]:
        rows: dict[str, str] = {}
        for _, binding, enabled, _ in self.screen.active_bindings.values():
            if binding.show and enabled and binding.description.startswith(PREFIX):
                rows.setdefault(binding.description, shown_name(binding))
        ordered = sorted(rows.items(), key=lambda row: row[0] == QUIT)
        return [(name, description) for description, name in ordered]


def shown_name(binding: Binding) -> str:
    """Return a binding's key as it is shown: `F2`, `^L`, `w`."""
    if binding.key_display:
        return binding.key_display
    first = binding.key.partition(",")[0]
    if first.startswith("ctrl+"):
        return "^" + format_key(first.removeprefix("ctrl+")).upper()
    return first.upper() if first.startswith("f") and first[1:].isdecimal() else format_key(first)
