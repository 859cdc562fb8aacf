"""One variable, flag or key: what it does, who reads it in which versions, and what to mind."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from distkb.tui.keys import KeyBar, key
from distkb.tui.language import say_of

if TYPE_CHECKING:
    from distkb.tui.app import DistkbApp


class SettingScreen(Screen[None]):
    """Shows the page that `distkb show NAME` prints."""

    app: DistkbApp
    BINDINGS: ClassVar[list[BindingType]] = [key("escape", "back", "back")]

    def __init__(self, name: str) -> None:
        """Take the setting's name."""
        super().__init__()
        self._name_shown = name

    def compose(self) -> ComposeResult:
        """Lay out the page."""
        yield Static(id="setting-title")
        with VerticalScroll(id="setting-body"):
            yield Static(id="setting-text", markup=False)
        yield KeyBar()

    def on_mount(self) -> None:
        """Show the page from its top."""
        self.speak()
        self.query_one("#setting-body").focus()

    def speak(self) -> None:
        """Write the page in the language of the app."""
        from distkb.report import setting as view

        known = self.app.knowledge
        if known is None:
            return
        compiled = known.compiled
        around = view.Surroundings.of(compiled)
        found = [setting for setting in compiled.settings() if setting.name == self._name_shown]
        text = view.write(found, around, say_of(self), columns=max(40, self.app.size.width - 4))
        self.query_one("#setting-title", Static).update(Content.styled(self._name_shown, "bold"))
        self.query_one("#setting-text", Static).update(Content(text))

    def on_resize(self) -> None:
        """Use the new width."""
        self.speak()

    def action_back(self) -> None:
        """Go back."""
        self.dismiss(None)
