"""Writes the session to a file that the person names: as Markdown, as JSON, or as a report to file upstream."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from distkb.evidence.text.clean import plain
from distkb.tui.dialog import Dialog
from distkb.tui.keys import KeyBar, key
from distkb.tui.language import say_of
from distkb.tui.screens.open import PathInput
from distkb.tui.widgets.listing import refill

if TYPE_CHECKING:
    from distkb.locale import Say
    from distkb.tui.app import DistkbApp
    from distkb.tui.open_session import OpenSession

FORMS: tuple[tuple[str, str], ...] = (("markdown", ".md"), ("json", ".json"), ("upstream", ".md"))
"""What can be written, and how the names of such files end."""


class ExportScreen(Dialog[None]):
    """Asks for the form and the file; nothing is written anywhere else, and no file is replaced."""

    app: DistkbApp
    BINDINGS: ClassVar[list[BindingType]] = [
        key("down", "to_list", "to-list", show=False),
        key("ctrl+y", "copy", "copy"),
        key("escape", "back", "back"),
    ]

    class Written(Message):
        """The file is there."""

        def __init__(self, path: Path) -> None:
            super().__init__()
            self.path = path

    class Refused(Message):
        """The file could not be written: the name of a sentence, and what the system says."""

        def __init__(self, sentence: str, path: Path, reason: str = "") -> None:
            super().__init__()
            self.sentence = sentence
            self.path = path
            self.reason = reason

    def __init__(self, *, upstream: bool = False) -> None:
        """Begin with the report for maintainers, or with Markdown."""
        super().__init__()
        self._first = 2 if upstream else 0
        self._path: Path | None = None

    def compose(self) -> ComposeResult:
        """Lay out the forms above the path."""
        with Vertical(id="export-box"):
            yield Static(id="export-title")
            yield OptionList(id="export-forms")
            yield Static(id="export-where")
            yield PathInput(id="export-path")
            yield Static(id="export-result")
        yield KeyBar()

    def on_mount(self) -> None:
        """Begin at the forms."""
        self.speak()
        self.query_one(OptionList).focus()

    def speak(self) -> None:
        """Say everything in the language of the app."""
        say = say_of(self)
        self.query_one("#export-title", Static).update(Content(say("tui.export.title")))
        rows = (Option(Content(say(f"tui.export.{name}")), id=name) for name, _ in FORMS)
        refill(self.query_one(OptionList), rows, highlighted=self._first)
        self.query_one("#export-where", Static).update(Content(say("tui.export.where")))
        self._say_example()
        self._say_written()

    @on(OptionList.OptionHighlighted)
    def _say_example(self) -> None:
        say = say_of(self)
        self.query_one(Input).placeholder = say("tui.export.placeholder", name=f"session{self._form()[1]}")

    def _say_written(self) -> None:
        if self._path is not None:
            text = say_of(self)("tui.export.written", path=plain(str(self._path)))
            self.query_one("#export-result", Static).update(Content(text))

    def _form(self) -> tuple[str, str]:
        at = self.query_one(OptionList).highlighted
        return FORMS[self._first if at is None else at]

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.query_one(Input).focus()

    @on(Input.Submitted)
    def _named(self, event: Input.Submitted) -> None:
        event.stop()
        current, typed = self.app.current, event.value.strip()
        if current is not None and current.view is not None and typed:
            self._write(typed, self._form()[0], current, say_of(self))

    @work(thread=True, group="export", exclusive=True)
    def _write(self, typed: str, form: str, current: OpenSession, say: Say) -> None:
        path = Path(typed)
        try:
            path = path.expanduser().absolute()
            text = written(form, current, say)
            with path.open("x", encoding="utf-8", errors="replace") as file:
                file.write(text)
        except FileExistsError:
            self.post_message(self.Refused("tui.export.exists", path))
        except (OSError, ValueError, RuntimeError) as problem:
            reason = getattr(problem, "strerror", None) or str(problem)
            self.post_message(self.Refused("tui.export.refused", path, reason))
        else:
            self.post_message(self.Written(path))

    def on_export_screen_written(self, message: Written) -> None:
        """Say where it is."""
        self._path = message.path
        self._say_written()

    def on_export_screen_refused(self, message: Refused) -> None:
        """Say why not; the path stays, to be corrected."""
        text = say_of(self)(message.sentence, path=plain(str(message.path)), reason=plain(message.reason))
        self.notify(text, severity="error", markup=False)

    def action_copy(self) -> None:
        """Copy the text instead of writing it."""
        current = self.app.current
        if current is not None and current.view is not None:
            self.app.copy(written(self._form()[0], current, say_of(self)))

    def action_to_list(self) -> None:
        """Go from the path to the forms."""
        self.query_one(OptionList).focus()

    def action_back(self) -> None:
        """Go back."""
        self.dismiss(None)


def written(form: str, current: OpenSession, say: Say) -> str:
    """Return the session in one of the forms."""
    from distkb.sessions import export

    session, view, guide = current.session, current.view, current.knowledge.guide
    if view is None:
        return ""
    if form == "json":
        return export.json(session, view)
    write = export.upstream if form == "upstream" else export.markdown
    return write(session, view, guide, say)
