"""Widgets that do what their own keys say at once, so that a burst of keys keeps its order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.binding import Binding
from textual.widgets import Input

if TYPE_CHECKING:
    from textual.events import Key
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
