"""Widgets that do what their own keys say at once, so that a burst of keys keeps its order."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding
from textual.message import Message
from textual.widgets import Input

from distkb.evidence.text.clean import plain

if TYPE_CHECKING:
    from textual.events import Key, Paste
    from textual.widget import Widget


async def at_once(widget: Widget, event: Key) -> None:
    """Do what one of a widget's own keys says; leave every other key as it is.

    Textual looks for a binding only after a key has bubbled up to the app, through one queue for each widget around,
    while characters are inserted at once: of `backspace, 7` in one packet of a slow line the 7 would come first.
    """
    for binding in Binding.make_bindings(widget.BINDINGS):
        if binding.key == event.key:
            event.stop()
            event.prevent_default()
            await widget.app.run_action(binding.action, widget)
            return


class Field(Input):
    """An input of one line without a frame."""

    async def on_key(self, event: Key) -> None:
        """Do what its own keys say before it takes the next one."""
        await at_once(self, event)


BREAK = " ⏎ "
"""How a line break in pasted text is shown in the one line of the input."""


class LineInput(Input):
    """An input of one line that takes the keys for commands and help as such while it is empty."""

    _COMMANDS: ClassVar = {":": "command_palette", "?": "help"}

    async def on_key(self, event: Key) -> None:
        """Carry out a command that is typed before anything else."""
        command = None if self.value else self._COMMANDS.get(event.character or "")
        if command is not None:
            event.stop()
            event.prevent_default()
            await self.app.run_action(command)


class WordsInput(LineInput):
    """An input of one line; it keeps all lines of what is pasted, and hands a pasted log on instead of showing it."""

    class Pasted(Message):
        """A log was pasted."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def on_paste(self, event: Paste) -> None:
        """Put a pasted text in, its line breaks made visible; a log is too long for that."""
        from distkb.sessions.pasted import is_log

        if is_log(event.text):
            event.prevent_default()
            event.stop()
            self.post_message(self.Pasted(event.text))
            return
        lines = [plain(line).rstrip() for line in event.text.splitlines()]
        if len(lines) > 1:
            event.prevent_default()
            event.stop()
            self.insert_text_at_cursor(BREAK.join(line for line in lines if line.strip()))
