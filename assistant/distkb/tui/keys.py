"""The keys at the bottom, in the language of the app."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.binding import Binding
from textual.content import Content
from textual.keys import format_key
from textual.widgets import Static

from distkb.tui.language import say_of

if TYPE_CHECKING:
    from textual.events import Click

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
    """Shows the keys that work now, those of the focused part first, as many lines as they need; a click is a key."""

    DEFAULT_CSS = """
    KeyBar { dock: bottom; height: auto; max-height: 4; background: $panel; color: $text; padding: 0 1; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._spans: list[tuple[int, int, int, str]] = []
        """Line, first and last column of a hint, and the key that it stands for."""

    def on_mount(self) -> None:
        """Follow the bindings of the screen."""
        self.screen.bindings_updated_signal.subscribe(self, lambda _screen: self.speak())
        self.speak()

    def speak(self) -> None:
        """Write the lines: as many hints in each as fit, the pinned ones at the end of the last."""
        columns = max(20, self.app.size.width) - 2
        rows = self._keys_now()
        ending = [row for row in rows if row[1] in PINNED]
        lines: list[list[tuple[str, str, str]]] = [[]]
        for row in (*(row for row in rows if row[1] not in PINNED), *ending):
            if self._width([*lines[-1], row]) > columns and lines[-1]:
                lines.append([])
            lines[-1].append(row)
        self._spans, shown = [], []
        for number, line in enumerate(lines):
            free = columns - self._width(line)
            at, parts = 0, []
            for row in line:
                if number == len(lines) - 1 and ending and row == ending[0]:
                    parts.append(Content(" " * max(0, free)))
                    at += max(0, free)
                part = self._part(row)
                self._spans.append((number, at, at + part.cell_length - 2, row[2]))
                at += part.cell_length
                parts.append(part)
            shown.append(Content.assemble(*parts))
        self.update(Content("\n").join(shown))
        self.styles.min_height = self._behind()

    def _behind(self) -> int:
        """Return the lines of the keys behind a dialog: they do not work in it, and must not shine through."""
        *behind, front = self.app.screen_stack
        if not behind or front is not self.screen or not front.is_modal:
            return 1
        return max((bar.size.height for bar in behind[-1].query(KeyBar)), default=1)

    def _width(self, line: list[tuple[str, str, str]]) -> int:
        return sum(self._part(row).cell_length for row in line) - 2

    def _part(self, row: tuple[str, str, str]) -> Content:
        name, description, _ = row
        return Content.assemble((name, "bold $accent"), " ", say_of(self)(description), "  ")

    def on_resize(self) -> None:
        """Use the new width."""
        self.speak()

    def on_click(self, event: Click) -> None:
        """Press the key that was clicked."""
        x, y = event.x - 1, event.y
        for line, first, last, name in self._spans:
            if line == y and first <= x < last:
                self.app.simulate_key(name)

    def _keys_now(self) -> list[tuple[str, str, str]]:
        """Return name, description and key of what works now."""
        rows: dict[str, tuple[str, str, str]] = {}
        for _, binding, enabled, _ in self.screen.active_bindings.values():
            if binding.show and enabled and binding.description.startswith(PREFIX):
                name = (shown_name(binding), binding.description, binding.key.partition(",")[0])
                if binding.key == "escape" or binding.description not in rows:
                    rows[binding.description] = name
        return sorted(rows.values(), key=lambda row: row[1] == QUIT)


def shown_name(binding: Binding) -> str:
    """Return a binding's key as it is shown: `F2`, `^L`, `w`."""
    if binding.key_display:
        return binding.key_display
    first = binding.key.partition(",")[0]
    if first.startswith("ctrl+"):
        return "^" + format_key(first.removeprefix("ctrl+")).upper()
    return first.upper() if first.startswith("f") and first[1:].isdecimal() else format_key(first)
