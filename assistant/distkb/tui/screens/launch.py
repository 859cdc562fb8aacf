"""The command and the files to start a strategy with, to be read and copied."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from distkb.evidence.text.clean import plain
from distkb.report.sizing import NAMES
from distkb.sizing.form import command_line
from distkb.sizing.launch import command, files
from distkb.tui.dialog import Dialog
from distkb.tui.keys import KeyBar, key
from distkb.tui.language import say_of
from distkb.tui.widgets.code import coloured
from distkb.tui.widgets.listing import refill

if TYPE_CHECKING:
    from pathlib import Path

    from distkb.sizing.advise import Advice
    from distkb.sizing.form import Form
    from distkb.tui.app import DistkbApp

_LANGUAGES = {"yaml": "yaml", "json": "json"}


class LaunchScreen(Dialog[None]):
    """Shows one piece at a time; Enter copies it."""

    app: DistkbApp
    BINDINGS: ClassVar[list[BindingType]] = [
        key("ctrl+y", "copy", "copy"),
        key("escape", "back", "back"),
    ]

    def __init__(self, advice: Advice, form: Form, config: Path | None = None) -> None:
        """Take the advice, whose chosen strategy is started, and the form that it answers."""
        super().__init__()
        self._advice = advice
        self.pieces = {"torchrun": command(advice) + "\n", **files(advice)}
        self.pieces["distkb"] = command_line(form, None if config is None else str(config)) + "\n"

    def compose(self) -> ComposeResult:
        """Lay out the names above the text."""
        with Vertical(id="launch-box"):
            yield Static(id="launch-title")
            yield OptionList(id="launch-pieces")
            with VerticalScroll(id="launch-scroll"):
                yield Static(id="launch-text")
            yield Static(id="launch-note")
        yield KeyBar()

    def on_mount(self) -> None:
        """Begin with the command."""
        self.speak()
        self.query_one(OptionList).focus()

    def speak(self) -> None:
        """Say everything in the language of the app."""
        say, advice = say_of(self), self._advice
        name = NAMES[advice.chosen.name] if advice.chosen is not None else ""
        title = "tui.launch.title.checkpointing" if advice.checkpointing else "tui.launch.title"
        self.query_one("#launch-title", Static).update(Content(say(title, strategy=name)))
        rows = []
        for piece in self.pieces:
            about = "tui.launch.about." + piece.partition(".")[0].replace("_", "-")
            rows.append(Option(Content.assemble((f"{piece:<16}", "bold $accent"), say(about)), id=piece))
        refill(self.query_one(OptionList), rows, highlighted=0)
        note = say("advise.launch.first-node") if advice.run.nodes > 1 else ""
        self.query_one("#launch-note", Static).update(Content(note))

    def _piece(self) -> str:
        at = self.query_one(OptionList).highlighted
        return list(self.pieces)[at or 0]

    @on(OptionList.OptionHighlighted)
    def _show(self) -> None:
        piece = self._piece()
        text = "\n".join(plain(line) for line in self.pieces[piece].splitlines())
        language = _LANGUAGES.get(piece.rpartition(".")[2], "bash")
        self.query_one("#launch-text", Static).update(coloured(text, language))
        self.query_one("#launch-scroll", VerticalScroll).scroll_home(animate=False)

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.action_copy()

    def action_copy(self) -> None:
        """Copy the piece that is shown."""
        piece = self._piece()
        self.app.copy(self.pieces[piece])

    def action_back(self) -> None:
        """Go back."""
        self.dismiss(None)
