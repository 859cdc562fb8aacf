"""Where the keys and commands that work everywhere lead: from any screen to any other, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from textual.app import App

from distkb.evidence.text.clean import plain

if TYPE_CHECKING:
    from textual.screen import Screen

    from distkb.locale import Say
    from distkb.tui.knowledge import ScreenKnowledge
    from distkb.tui.open_session import OpenSession


_COPIED = {"tmux": "tui.copied.tmux", "terminal": "tui.copied.terminal"}


class Ways(App[int]):
    """The ways from screen to screen; what a session is and how it begins is the app's own."""

    say: Say
    knowledge: ScreenKnowledge | None
    current: OpenSession | None

    def begin(self, description: str = "", paths: Sequence[Path] = (), pasted: str = "") -> None:
        """Start a session from words, from files, from a log that was pasted, or from all of it."""
        raise NotImplementedError

    def resume_session(self, identity: str) -> None:
        """Go on with a saved session."""
        raise NotImplementedError

    def close_session(self) -> None:
        """Put the session away, saved."""
        raise NotImplementedError

    def ask(self, dialog: Screen[Any], then: Callable[[Any], None]) -> None:
        """Open a dialog whose answer comes to the app: the screen that asks may be gone by then."""
        self.call_later(self.push_screen, dialog, then)

    def back_to_session(self) -> None:
        """Close whatever was opened above the session."""
        from distkb.tui.screens.session import SessionScreen

        while not isinstance(self.screen, SessionScreen) and len(self.screen_stack) > 2:
            self.pop_screen()

    def copy(self, text: str) -> None:
        """Copy a text, and say what was really done with it."""
        from distkb.tui import clipboard

        self.copy_to_clipboard(text)
        way, path = clipboard.hand_over(text), clipboard.keep(text)
        parts = [
            self.say(f"tui.copied.{way}"),
            "" if path is None else self.say("tui.copied.file", path=plain(str(path))),
        ]
        self.notify(" ".join(filter(None, parts)), markup=False)

    def show_entry(self, identity: str) -> None:
        """Read one entry."""
        from distkb.tui.screens.entry import EntryScreen

        if self.knowledge is not None and identity in self.knowledge.entries:
            self.push_screen(EntryScreen(identity))

    def show_repro(self, identity: str) -> None:
        """Show an entry's failure live."""
        from distkb.tui.screens.repro import ReproScreen

        if self.knowledge is not None and identity in self.knowledge.entries:
            self.push_screen(ReproScreen(self.knowledge.entries[identity]))

    def show_fix(self, identity: str) -> None:
        """Read one fix, with the question whether it helped."""
        from distkb.tui.screens.fix import FixScreen

        if self.knowledge is not None and identity in self.knowledge.guide.fixes:
            self.push_screen(FixScreen(identity))

    def browse(self) -> None:
        """Look through all entries."""
        from distkb.tui.screens.browse import BrowseScreen

        if self.knowledge is not None:
            self.push_screen(BrowseScreen())

    def show_glossary(self) -> None:
        """Look up a word."""
        from distkb.tui.screens.glossary import GlossaryScreen

        if self.knowledge is not None:
            self.push_screen(GlossaryScreen())

    def check_machine(self, probe: str | None = None, step: str | None = None) -> None:
        """Offer the probes, or one of them; `step` is the session's step that it answers."""
        from distkb.tui.screens.probes import ProbesScreen

        if self.knowledge is not None:
            self.push_screen(ProbesScreen(probe, step))

    def advise(self) -> None:
        """Work out what fits on a cluster."""
        from distkb.tui.screens.advise import AdviseScreen

        self.push_screen(AdviseScreen())

    def home(self) -> None:
        """Go back to the start from wherever it is; an open session is saved."""
        while len(self.screen_stack) > 2:
            self.pop_screen()
        self.close_session()

    def action_open_run(self) -> None:
        """Choose a folder or a file, and begin with it."""
        from distkb.tui.screens.open import OpenScreen

        self.home()
        self.ask(OpenScreen(), lambda path: self.begin(paths=[path]) if path else None)

    def action_earlier(self) -> None:
        """Go on with an earlier session."""
        from distkb.tui.screens.resume import ResumeScreen

        self.home()
        self.ask(ResumeScreen(), lambda session: self.resume_session(session) if session else None)

    def action_check_machine(self) -> None:
        """Offer the probes."""
        self.check_machine()

    def action_browse(self) -> None:
        """Look through all entries."""
        self.browse()

    def action_glossary(self) -> None:
        """Look up a word."""
        self.show_glossary()

    def action_advise(self) -> None:
        """Work out what fits on a cluster."""
        self.advise()

    def action_search(self) -> None:
        """Go to the words that narrow the list down; where there is no list, search the catalogue."""
        to_filter = getattr(self.screen, "action_to_filter", None)
        if callable(to_filter):
            to_filter()
        else:
            self.browse()

    def action_step_out(self) -> None:
        """Leave the screen; at the start, the program."""
        names = ("action_leave", "action_back", "action_cancel", "action_close")
        leave = next((found for name in names if callable(found := getattr(self.screen, name, None))), self.exit)
        leave()

    def show_setting(self, name: str) -> None:
        """Read what is known of a variable, flag or key."""
        from distkb.tui.screens.setting import SettingScreen

        if self.knowledge is not None:
            self.push_screen(SettingScreen(name))

    def action_help_quit(self) -> None:
        """Say how to quit: Ctrl+C copies, and too many press it by habit."""
        self.notify(self.say("tui.how-to-quit"), markup=False)

    def action_command_palette(self) -> None:
        """Offer all commands."""
        from textual.command import CommandPalette

        if not CommandPalette.is_open(cast("App[object]", self)):
            self.push_screen(CommandPalette(placeholder=self.say("tui.palette.placeholder"), id="--command-palette"))

    def action_help(self) -> None:
        """Explain what has the focus."""
        from distkb.tui.screens.help import HelpScreen

        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen(self.screen))
