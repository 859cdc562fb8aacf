"""Chooses an earlier session, by time and by words; deletes one that is not needed any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from distkb.tui import saved
from distkb.tui.dialog import Dialog
from distkb.tui.keys import KeyBar, key
from distkb.tui.language import say_of
from distkb.tui.screens.start import session_row
from distkb.tui.widgets.listing import refill
from distkb.tui.widgets.prompt import LineInput

if TYPE_CHECKING:
    from distkb.tui.app import DistkbApp

MOST_SHOWN = 500


class ResumeScreen(Dialog[str | None]):
    """Closes with the id of the chosen session, or None."""

    app: DistkbApp
    BINDINGS: ClassVar[list[BindingType]] = [
        key("ctrl+d,delete", "delete", "delete", priority=True),
        key("down", "to_list", "to-list", show=False),
        key("slash", "to_filter", "filter", show=False),
        key("escape", "cancel", "back"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._doomed: str | None = None
        """The session that is deleted when the key is pressed once more."""

    def compose(self) -> ComposeResult:
        """Lay out the words above the list."""
        with Vertical(id="resume-box"):
            yield Static(id="resume-title")
            yield LineInput(id="resume-filter")
            yield OptionList(id="resume-list")
        yield KeyBar()

    def on_mount(self) -> None:
        """List the sessions, the one worked on last first."""
        self.speak()
        self.query_one(OptionList).focus()

    def speak(self) -> None:
        """Say what is listed."""
        self.query_one(Input).placeholder = say_of(self)("tui.resume.filter")
        self._list()

    @on(Input.Changed)
    def _list(self) -> None:
        words = self.query_one(Input).value.casefold().split()
        sessions = saved.recent(MOST_SHOWN)
        fitting = [s for s in sessions if all(word in f"{s.started} {s.title}".casefold() for word in words)]
        listing = self.query_one(OptionList)
        refill(listing, (Option(session_row(session), id=session.id) for session in fitting), highlighted=0)
        text = say_of(self)("tui.resume.title" if sessions else "tui.resume.none")
        self.query_one("#resume-title", Static).update(Content(text))
        self._doomed = None

    @on(Input.Submitted)
    def _first(self, event: Input.Submitted) -> None:
        event.stop()
        self.query_one(OptionList).action_select()

    @on(OptionList.OptionSelected)
    def _choose(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)

    @on(OptionList.OptionHighlighted)
    def _spare(self) -> None:
        self._doomed = None

    def action_delete(self) -> None:
        """Ask once, then delete the session under the cursor."""
        listing = self.query_one(OptionList)
        name = None if listing.highlighted is None else listing.get_option_at_index(listing.highlighted).id
        if name is None:
            return
        if self._doomed != name:
            self._doomed = name
            self.query_one("#resume-title", Static).update(Content(say_of(self)("tui.resume.sure")))
            return
        try:
            saved.delete(name)
        except saved.UnsavedError as problem:
            self.app.complain(problem)
        self._list()

    def action_to_list(self) -> None:
        """Go from the words to the list."""
        self.query_one(OptionList).focus()

    def action_to_filter(self) -> None:
        """Go to the words."""
        self.query_one(Input).focus()

    def action_cancel(self) -> None:
        """Go back without choosing."""
        self.dismiss(None)
