"""One entry in full, with ways to its fixes and to the entries it is related to."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from distkb.report.signs import SHOWN, speaking_against, speaking_for, table
from distkb.tui.keys import KeyBar, key
from distkb.tui.language import prose, say_of, shown
from distkb.tui.widgets.listing import refill

if TYPE_CHECKING:
    from distkb.catalogue.model import Cause, Cue, Entry
    from distkb.locale import Say
    from distkb.tui.app import DistkbApp


class EntryScreen(Screen[None]):
    """Shows one entry; Tab walks through its links."""

    app: DistkbApp
    BINDINGS: ClassVar[list[BindingType]] = [
        key("tab", "app.focus_next", "next-link"),
        key("m", "unfold", "more-signs"),
        key("r", "reproduce", "reproduce"),
        key("escape", "back", "back"),
        key("b", "to_start", "to-start"),
    ]

    def __init__(self, identity: str) -> None:
        """Take the entry's id."""
        super().__init__()
        self._identity = identity
        self._whole = False
        """Whether all signs are shown, or the most telling ones."""

    @property
    def entry(self) -> Entry | None:
        """Return the entry that is shown."""
        return None if self.app.knowledge is None else self.app.knowledge.entries.get(self._identity)

    def compose(self) -> ComposeResult:
        """Lay out the entry: text, and a list of links wherever one leads on."""
        entry = self.entry
        if entry is None:
            return
        yield Static(id="entry-title")
        with VerticalScroll(id="entry-body"):
            yield Static(id="entry-opening")
            for number, cause in enumerate(entry.causes):
                yield Static(id=f"entry-cause-{number}")
                yield OptionList(id=f"entry-fixes-{number}", classes="links")
                if cause.confused_with:
                    yield Static(id=f"entry-confused-title-{number}")
                    yield OptionList(id=f"entry-confused-{number}", classes="links")
            yield Static(id="entry-closing")
            yield OptionList(id="entry-related", classes="links")
            yield Static(id="entry-references")
        yield KeyBar()

    def on_mount(self) -> None:
        """Show the entry from its top."""
        self.speak()
        self.query_one("#entry-body").focus()

    def speak(self) -> None:
        """Say everything in the language of the app."""
        entry, known = self.entry, self.app.knowledge
        if entry is None or known is None:
            return
        say = say_of(self)
        self._put("#entry-title", Content.assemble((f"{entry.id}  ", "bold $accent"), (say.text(entry.title), "bold")))
        self._put("#entry-opening", self._beginning(entry, say))
        for number, cause in enumerate(entry.causes):
            self._put(f"#entry-cause-{number}", self._cause(cause, say))
            self._link(f"#entry-fixes-{number}", [(fix.id, say.text(fix.title)) for fix in cause.fixes])
            if cause.confused_with:
                self._put(f"#entry-confused-title-{number}", _heading(say("entry.confused-with")))
                rows = [(c.id, say.text(c.how_to_tell)) for c in cause.confused_with]
                self._link(f"#entry-confused-{number}", rows)
        self._put("#entry-closing", self._ending(entry, say))
        self._link("#entry-related", [(name, known.meanings.title(name, say)) for name in entry.related])
        references = [f"- {reference.title}\n  {reference.url}" for reference in entry.references]
        content = Content("\n").join([_heading(say("entry.references")), Content("\n".join(references))])
        self._put("#entry-references", content)

    def _put(self, selector: str, content: Content) -> None:
        self.query_one(selector, Static).update(content)

    def _link(self, selector: str, rows: list[tuple[str, str]]) -> None:
        links = self.query_one(selector, OptionList)
        options = (Option(Content.assemble((f"{name}  ", "bold $accent"), text), id=name) for name, text in rows)
        refill(links, options, highlighted=0)
        links.display = bool(rows)

    def _beginning(self, entry: Entry, say: Say) -> Content:
        line = say("entry.line", family=say(f"family.{entry.family}"), status=say(f"status.{entry.status}"))
        parts = [Content.styled(line, "dim")]
        if self.app.knowledge is not None:
            head, *rows = table(entry, self.app.knowledge.meanings, say, max(40, self.app.size.width - 5))
            parts += [Content.styled(f"\n{head}", "bold"), *map(Content, rows), Content("")]
        parts += [prose(say.text(entry.summary)), _heading(say("entry.symptoms"))]
        parts += [prose(f"- {say.text(symptom)}") for symptom in entry.symptoms]
        printed = [(s, s.example) for s in entry.signatures if s.example]
        if printed:
            parts.append(_heading(say("entry.messages")))
        for signature, example in printed:
            parts.append(prose(f"- {say.text(signature.means)}"))
            parts.append(Content.assemble("  | ", (shown(example or "").plain, "dim")))
        return Content("\n").join(parts)

    def _cause(self, cause: Cause, say: Say) -> Content:
        known = self.app.knowledge
        title = say("entry.cause", id=cause.id, title=say.text(cause.title))
        parts = [Content.styled(f"\n{title}", "bold $accent"), Content.styled(say(f"prior.{cause.prior}"), "dim")]
        parts.append(prose(say.text(cause.explanation)))
        if known is None:
            return Content("\n").join(parts)
        parts += self._evidence("entry.speaks-for", speaking_for(cause, known.meanings), say)
        parts += self._evidence("entry.speaks-against", speaking_against(cause, known.meanings), say)
        parts.append(_heading(say("entry.fixes")))
        return Content("\n").join(parts)

    def _evidence(self, heading: str, evidence: list[Cue], say: Say) -> list[Content]:
        known = self.app.knowledge
        if not evidence or known is None:
            return []
        rows = [_heading(say(heading))]
        shown = evidence if self._whole else evidence[:SHOWN]
        rows += [prose(f"- {known.meanings.sentence(one.observation, say)}") for one in shown]
        if len(evidence) > len(shown):
            rows.append(Content.styled(say.count("tui.entry.more-signs", len(evidence) - len(shown)), "dim"))
        return rows

    def _ending(self, entry: Entry, say: Say) -> Content:
        parts: list[Content] = []
        if entry.does_not_help:
            parts.append(_heading(say("entry.does-not-help")))
            parts += [prose(f"- {say.text(text)}") for text in entry.does_not_help]
        if entry.repro is not None:
            recorded = " --recorded" if entry.repro.kind == "hw" else ""
            command = f"distkb repro run {entry.id}{recorded}"
            parts += [_heading(say("entry.reproduce")), Content(f"  $ {command}")]
        if entry.related:
            parts.append(_heading(say("entry.related")))
        return Content("\n").join(parts)

    @on(OptionList.OptionSelected)
    def _follow(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        name = event.option.id or ""
        if name.count(".") == 2:
            self.app.show_fix(name)
        else:
            self.app.show_entry(name.partition(".")[0])

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Offer to show the failure only where something shows it."""
        return action != "reproduce" or (self.entry is not None and self.entry.repro is not None)

    def action_unfold(self) -> None:
        """Show all signs of the causes, or the most telling ones again."""
        self._whole = not self._whole
        self.speak()

    def on_resize(self) -> None:
        """Draw the table for the new width."""
        self.speak()

    def action_reproduce(self) -> None:
        """Show the failure live."""
        self.app.show_repro(self._identity)

    def action_to_start(self) -> None:
        """Go back over all entries that led here."""
        while isinstance(self.app.screen, EntryScreen):
            self.app.pop_screen()

    def action_back(self) -> None:
        """Go back to what led here."""
        self.dismiss(None)


def _heading(text: str) -> Content:
    return Content.styled(f"\n{text}", "bold underline")
