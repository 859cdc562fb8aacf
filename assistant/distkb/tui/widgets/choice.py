"""One of a few words, chosen in place: it takes one line and opens nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from distkb.tui.keys import key
from distkb.tui.language import say_of
from distkb.tui.widgets.prompt import at_once

if TYPE_CHECKING:
    from textual.events import Key


class Choice(Static, can_focus=True):
    """Shows the chosen word between arrows; the arrow keys, Space, Enter and the mouse go on to the next one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        key("left", "turn(-1)", "choice-back", show=False),
        key("right,space,enter", "turn(1)", "choice-next"),
    ]

    class Changed(Message):
        """Another word is chosen."""

    def __init__(self, words: Sequence[str], value: str, *, id: str, sentences: str = "") -> None:  # noqa: A002 - Textual's
        """Take the words; `sentences` begins the keys of what they are shown as."""
        super().__init__(id=id)
        self._words = tuple(words)
        self._sentences = sentences
        self.value = value

    def on_mount(self) -> None:
        """Show the word."""
        self.speak()

    def speak(self) -> None:
        """Show the word in the language of the app."""
        name = self._sentences + self.value
        shown = say_of(self)(name) if self._sentences else self.value
        self.update(Content.assemble(("◂ ", "$accent"), shown, (" ▸", "$accent")))

    def choose(self, value: str) -> None:
        """Choose a word; one that is not offered changes nothing."""
        if value in self._words and value != self.value:
            self.value = value
            self.speak()
            self.post_message(self.Changed())

    def action_turn(self, by: int) -> None:
        """Go on to the next word, or back to the one before."""
        self.choose(self._words[(self._words.index(self.value) + by) % len(self._words)])

    async def on_key(self, event: Key) -> None:
        """Do what its own keys say before it takes the next one."""
        await at_once(self, event)

    def on_click(self) -> None:
        """Go on to the next word."""
        self.action_turn(1)
