"""Chooses an earlier session."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from distkb.tui import saved
from distkb.tui.dialog import Dialog
from distkb.tui.keys import KeyBar, key
from distkb.tui.screens.start import session_row
from distkb.tui.voice import voice

if TYPE_CHECKING:
    from distkb.tui.app import DistkbApp

MOST_SHOWN = 50


class ResumeScreen(Dialog[str | None]):
    """Closes with the id of the chosen session, or None."""

    app: DistkbApp
    BINDINGS: ClassVar[list[BindingType]] = [key("escape", "cancel", "back")]

    def compose(self) -> ComposeResult:
        """Lay out the list."""
        with Vertical(id="resume-box"):
            yield Static(id="resume-title")
            yield OptionList(id="resume-list")
        yield KeyBar()

    def on_mount(self) -> None:
        """List the sessions, the latest first."""
        listing = self.query_one(OptionList)
        listing.add_options(Option(session_row(session), id=session.id) for session in saved.recent(MOST_SHOWN))
        listing.highlighted = 0 if listing.option_count else None
        self.speak()
        listing.focus()

    def speak(self) -> None:
        """Say what is listed."""
        some = self.query_one(OptionList).option_count > 0
        text = voice(self)("tui.resume.title" if some else "tui.resume.none")
        self.query_one("#resume-title", Static).update(Content(text))

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)

    def action_cancel(self) -> None:
        """Go back without choosing."""
        self.dismiss(None)
