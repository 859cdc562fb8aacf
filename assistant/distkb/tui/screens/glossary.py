"""The words of the field, each in both languages with what it means."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from distkb.tui.keys import KeyBar, key
from distkb.tui.language import prose, say_of
from distkb.tui.widgets.listing import refill
from distkb.tui.widgets.prompt import LineInput

if TYPE_CHECKING:
    from distkb.catalogue.model import Term
    from distkb.tui.app import DistkbApp


class GlossaryScreen(Screen[None]):
    """Lists the terms that begin with or contain what is typed; beside them what the chosen one means."""

    app: DistkbApp
    BINDINGS: ClassVar[list[BindingType]] = [
        key("f7", "read_entry", "read-entry"),
        key("down", "to_list", "to-list", show=False),
        key("escape", "back", "back"),
    ]

    def compose(self) -> ComposeResult:
        """Lay out the list beside the definition."""
        yield Static(id="glossary-title")
        yield LineInput(id="glossary-input")
        with Horizontal(id="glossary-body"):
            yield OptionList(id="glossary-list")
            with VerticalScroll(id="glossary-right"):
                yield Static(id="glossary-term")
                yield OptionList(id="glossary-links", classes="links")
        yield KeyBar()

    def on_mount(self) -> None:
        """List everything."""
        self.speak()
        self.query_one(Input).focus()

    def speak(self) -> None:
        """Say everything in the language of the app."""
        say = say_of(self)
        self.query_one("#glossary-title", Static).update(Content.styled(say("tui.glossary.title"), "bold"))
        self.query_one(Input).placeholder = say("tui.glossary.placeholder")
        self._list(self.query_one(Input).value)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        self._list(event.value)

    def _list(self, words: str) -> None:
        known = self.app.knowledge
        if known is None:
            return
        say, wanted = say_of(self), words.strip().casefold()
        listing = self.query_one("#glossary-list", OptionList)
        chosen = self._chosen()
        terms = [term for term in known.catalogue.terms if not wanted or _matches(term, wanted)]
        terms.sort(key=lambda term: say.text(term.term).casefold())
        refill(listing, (Option(Content(say.text(term.term)), id=term.id) for term in terms))
        names = [term.id for term in terms]
        listing.highlighted = names.index(chosen.id) if chosen and chosen.id in names else (0 if names else None)
        self._define()

    def _chosen(self) -> Term | None:
        known, listing = self.app.knowledge, self.query_one("#glossary-list", OptionList)
        if known is None or listing.highlighted is None or listing.highlighted >= listing.option_count:
            return None
        name = listing.get_option_at_index(listing.highlighted).id
        return next((term for term in known.catalogue.terms if term.id == name), None)

    @on(OptionList.OptionHighlighted, "#glossary-list")
    def _define(self) -> None:
        term, known = self._chosen(), self.app.knowledge
        panel = self.query_one("#glossary-term", Static)
        if term is None or known is None:
            panel.update(Content(say_of(self)("tui.glossary.none")))
            self.query_one("#glossary-links").display = False
            return
        say = say_of(self)
        other = term.term.en if say.lang == "ko" else term.term.ko
        forms = ", ".join(dict.fromkeys((*term.forms.en, *term.forms.ko)))
        parts = [
            Content.assemble((say.text(term.term), "bold $accent"), f"  {other}"),
            prose(say.text(term.definition)),
            Content.styled(f"\n{say('tui.glossary.forms', forms=forms)}", "dim"),
        ]
        if term.see:
            parts.append(Content.styled(f"\n{say('entry.related')}", "bold underline"))
        links = self.query_one("#glossary-links", OptionList)
        rows = [(name, known.meanings.title(name, say)) for name in term.see]
        refill(links, (Option(Content.assemble((f"{n}  ", "bold $accent"), title), id=n) for n, title in rows))
        links.display = bool(rows)
        panel.update(Content("\n").join(parts))

    def action_read_entry(self) -> None:
        """Read the first entry that the term leads to."""
        term = self._chosen()
        if term is not None and term.see:
            self.app.show_entry(term.see[0])

    @on(Input.Submitted)
    @on(OptionList.OptionSelected, "#glossary-list")
    def _selected(self) -> None:
        self.action_read_entry()

    @on(OptionList.OptionSelected, "#glossary-links")
    def _follow(self, event: OptionList.OptionSelected) -> None:
        if event.option.id:
            self.app.show_entry(event.option.id.partition(".")[0])

    def action_to_list(self) -> None:
        """Go from the input to the list."""
        self.query_one("#glossary-list", OptionList).focus()

    def action_back(self) -> None:
        """Go back."""
        self.dismiss(None)


def _matches(term: Term, wanted: str) -> bool:
    return any(wanted in form.casefold() for form in (term.term.en, term.term.ko, *term.forms.en, *term.forms.ko))
