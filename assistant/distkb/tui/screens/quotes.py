"""What screens that list quoted lines share: texts above a list, of which Enter opens the line that a row quotes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from distkb.tui.keys import KeyBar, key
from distkb.tui.open_session import SessionChanged

if TYPE_CHECKING:
    from distkb.evidence.observation import Quote
    from distkb.tui.app import DistkbApp


class Quotes(OptionList):
    """The rows; the keys at the bottom say that Enter opens one."""

    BINDINGS: ClassVar[list[BindingType]] = [key("enter", "select", "look-closer")]


class QuotesScreen(Screen[None]):
    """A list of quoted lines; a subclass says it anew whenever the session, the language or the width changes."""

    app: DistkbApp
    IDS: ClassVar[tuple[str, str, str]]
    """Ids of the title, of what stands below it, and of the list."""

    def __init__(self) -> None:
        super().__init__()
        self._targets: list[Quote | None] = []

    def compose(self) -> ComposeResult:
        """Lay out what stands above the list."""
        title, below, rows = self.IDS
        yield Static(id=title)
        yield Static(id=below)
        yield Quotes(id=rows)
        yield KeyBar()

    def on_mount(self) -> None:
        """Show it."""
        self.speak()
        self.query_one(OptionList).focus()

    def on_resize(self) -> None:
        """Use the new width."""
        self.call_after_refresh(self.speak)

    @on(SessionChanged)
    def _changed(self) -> None:
        self.speak()

    def speak(self) -> None:
        """Say everything in the language of the app."""
        raise NotImplementedError

    def _row(self, content: Content, target: Quote | None = None, name: str | None = None) -> Option:
        """Return a row; one that quotes nothing and has no name cannot be chosen."""
        self._targets.append(target)
        return Option(content, id=name, disabled=target is None and name is None)

    @on(OptionList.OptionSelected)
    def _open(self, event: OptionList.OptionSelected) -> None:
        from distkb.tui.screens.context import ContextScreen

        event.stop()
        target = self._targets[event.option_index] if event.option_index < len(self._targets) else None
        if target is not None:
            self.app.push_screen(ContextScreen(target))
        elif event.option.id is not None:
            self.chosen(event.option.id)

    def chosen(self, name: str) -> None:
        """Do what a row with a name stands for."""

    def action_back(self) -> None:
        """Go back."""
        self.dismiss(None)
