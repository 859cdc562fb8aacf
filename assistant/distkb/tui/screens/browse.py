"""All entries by family, narrowed by words as they are typed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, get_args

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from distkb.catalogue.model import Family
from distkb.tui.keys import KeyBar, key
from distkb.tui.language import fit, say_of
from distkb.tui.widgets.listing import refill, room
from distkb.tui.widgets.prompt import LineInput

if TYPE_CHECKING:
    from distkb.catalogue.model import Entry
    from distkb.tui.app import DistkbApp
    from distkb.tui.knowledge import ScreenKnowledge

MOST_FOUND = 30


class BrowseScreen(Screen[None]):
    """Lists the catalogue; Enter reads an entry."""

    app: DistkbApp
    BINDINGS: ClassVar[list[BindingType]] = [
        key("f7", "app.glossary", "glossary"),
        key("down", "to_list", "to-list", show=False),
        key("escape", "back", "back"),
    ]

    def compose(self) -> ComposeResult:
        """Lay out the input above the list."""
        yield Static(id="browse-title")
        yield LineInput(id="browse-input")
        yield OptionList(id="browse-list")
        yield KeyBar()

    def on_mount(self) -> None:
        """List everything."""
        self.speak()
        self.query_one(Input).focus()

    def speak(self) -> None:
        """Say everything in the language of the app."""
        say = say_of(self)
        self.query_one("#browse-title", Static).update(Content.styled(say("tui.browse.title"), "bold"))
        self.query_one(Input).placeholder = say("tui.browse.placeholder")
        self._list(self.query_one(Input).value)

    def on_resize(self) -> None:
        """Cut the titles where the new width ends."""
        self.call_after_refresh(self.speak)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        self.query_one(OptionList).highlighted = None
        self._list(event.value)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        """Read the first that was found; where everything is listed, go to the list."""
        listing = self.query_one(OptionList)
        if event.value.strip() and listing.highlighted is not None:
            listing.action_select()
        else:
            listing.focus()

    def _list(self, words: str) -> None:
        known = self.app.knowledge
        if known is None:
            return
        say = say_of(self)
        if words.strip():
            from distkb.search.query import search

            rows = [self._row(known.entries[hit.id]) for hit in search(known.index, words, MOST_FOUND, say.lang)]
            first = 0
        else:
            rows, first = list(self._families(known)), 1  # the first row is a heading
        refill(self.query_one(OptionList), rows, highlighted=first)

    def _families(self, known: ScreenKnowledge) -> Iterator[Option]:
        for family in get_args(Family):
            members = [entry for entry in known.catalogue.entries if entry.family == family]
            if members:
                heading = Content.styled(say_of(self)(f"family.{family}"), "bold underline")
                yield Option(heading, disabled=True)
                yield from (self._row(entry) for entry in members)

    def _row(self, entry: Entry) -> Option:
        title = fit(say_of(self).text(entry.title), room(self.query_one(OptionList)) - 7)
        return Option(Content.assemble((f"  {entry.id:<5}", "bold $accent"), title), id=entry.id)

    @on(OptionList.OptionSelected)
    def _read(self, event: OptionList.OptionSelected) -> None:
        if event.option.id:
            self.app.show_entry(event.option.id)

    def action_to_list(self) -> None:
        """Go from the input to the list."""
        self.query_one(OptionList).focus()

    def action_to_filter(self) -> None:
        """Go to the words."""
        self.query_one(Input).focus()

    def action_back(self) -> None:
        """Go back."""
        self.dismiss(None)
