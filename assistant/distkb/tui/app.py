"""The application: which screens there are, how one leads to another, and what holds at any moment."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import work
from textual.app import SystemCommand
from textual.binding import BindingType
from textual.message import Message
from textual.screen import Screen

from distkb.evidence.text.clean import plain
from distkb.locale import Say, as_language
from distkb.tui import habits, saved
from distkb.tui.habits import Habits
from distkb.tui.keys import key
from distkb.tui.language import speak_all
from distkb.tui.open_session import OpenSession, SessionChanged
from distkb.tui.screens.start import StartScreen
from distkb.tui.spare import Spare
from distkb.tui.ways import Ways

if TYPE_CHECKING:
    from textual.command import Provider

    from distkb.diagnosis.session import Event, Session
    from distkb.diagnosis.view import SessionView
    from distkb.tui.knowledge import ScreenKnowledge
    from distkb.watching.look import LocalJob

UNABLE = 3
"""Exit code where the program itself failed."""

DARK, LIGHT, TERMINAL = "textual-dark", "textual-light", "ansi-dark"
THEMES = (DARK, LIGHT, TERMINAL)
"""Dark, light, and the terminal's own palette."""


def _commands() -> type[Provider]:
    """Return the provider of the command palette; imported when the palette is opened."""
    from distkb.tui.palette import Commands

    return Commands


class DistkbApp(Ways):
    """distkb on a terminal."""

    CSS_PATH = Path(__file__).with_name("styles.tcss")
    TITLE = "distkb"
    ENABLE_COMMAND_PALETTE = True
    VERTICAL_BREAKPOINTS = [(0, "low"), (30, "high")]  # noqa: RUF012 - Textual declares it without ClassVar
    """Classes of a screen by its lines: on a low one what is not used is kept small."""
    COMMANDS: ClassVar[set[Any]] = {_commands}
    BINDINGS: ClassVar[list[BindingType]] = [
        key("ctrl+l", "toggle_language", "language", priority=True),
        key("ctrl+t", "toggle_theme", "theme", show=False),
        key("f1,question_mark", "help", "help"),
        key("ctrl+q", "quit", "quit", priority=True),
        key("f2", "open_run", "open", show=False),
        key("f3", "check_machine", "check", show=False),
        key("f4", "browse", "browse", show=False),
        key("f5", "earlier", "resume", show=False),
        key("f6", "advise", "advise", show=False),
        key("f7", "glossary", "glossary", show=False),
        key("slash", "search", "search", show=False),
        key("ctrl+p,colon", "command_palette", "commands", show=False),
        key("q", "step_out", "leave", show=False),
    ]

    class JobsFound(Message):
        """It is known which jobs run here."""

        def __init__(self, jobs: Sequence[LocalJob]) -> None:
            super().__init__()
            self.jobs = jobs

    class KnowledgeReady(Message):
        """The catalogue is loaded."""

    class Looked(Message):
        """What a session amounts to is computed."""

        def __init__(self, session: Session, view: SessionView) -> None:
            super().__init__()
            self.session = session
            self.view = view

    class Unsaved(Message):
        """A session could not be saved."""

        def __init__(self, problem: saved.UnsavedError) -> None:
            super().__init__()
            self.problem = problem

    class KnowledgeBroken(Message):
        """The catalogue cannot be loaded."""

        def __init__(self, reason: str) -> None:
            super().__init__()
            self.reason = reason

    def __init__(
        self,
        say: Say,
        *,
        paths: Sequence[Path] = (),
        overlays: Sequence[Path] = (),
        resume: str | None = None,
        remembered: Habits | None = None,
    ) -> None:
        """Prepare the app. `paths` are read as soon as the catalogue is there; `resume` is a session's id."""
        super().__init__(ansi_color=True if "NO_COLOR" in os.environ else None)
        self.say = say
        self._habits = remembered or Habits()
        self.last_session: str | None = None
        """The session that was open last: how to go on with it is said on leaving."""
        self.knowledge: ScreenKnowledge | None = None
        self.current: OpenSession | None = None
        self.jobs: tuple[LocalJob, ...] = ()
        """The jobs that run here and were not looked at, the one that has been silent longest first."""
        self.looked: set[tuple[int, ...]] = set()
        """Processes of the jobs that were looked at, or were not to be."""
        self._given: tuple[str, tuple[Path, ...], str] | None = ("", tuple(paths), "") if paths else None
        """What to begin with as soon as the catalogue is there: words, files and a pasted log."""
        self._overlays = tuple(overlays)
        self._resume = resume
        self.spare = Spare(overlays)
        """Reads what is given next."""

    def on_mount(self) -> None:
        """Show the start screen at once, and load the catalogue behind it."""
        self.theme = self._habits.theme if self._habits.theme in THEMES else DARK
        self.push_screen(StartScreen())
        self.call_after_refresh(self._load)
        self.find_jobs()

    @work(thread=True, group="jobs", exclusive=True)
    def find_jobs(self) -> None:
        """Find out which jobs run on this machine."""
        from distkb.watching.look import running

        self.post_message(self.JobsFound(running()))

    def on_distkb_app_jobs_found(self, message: JobsFound) -> None:
        """Let every screen offer to look at them."""
        self.jobs = tuple(job for job in message.jobs if job.pids not in self.looked)
        for screen in self.screen_stack:
            found = getattr(screen, "job_found", None)
            if callable(found):
                found()

    def look(self, job: LocalJob, then: Callable[[Path], None] | None = None) -> None:
        """Look at a job that runs here, and read what was taken: into the open session, or into a new one."""
        from distkb.tui.screens.look import LookScreen

        def taken(folder: Path | None) -> None:
            if folder is not None:
                self.dismiss_job(job)
                (then or (lambda path: self.begin(paths=[path])))(folder)

        self.ask(LookScreen(job), taken)

    def dismiss_job(self, job: LocalJob) -> None:
        """Offer to look at a job no more."""
        self.looked.add(job.pids)
        self.jobs = tuple(other for other in self.jobs if other.pids not in self.looked)

    @work(thread=True, group="knowledge", exclusive=True)
    def _load(self) -> None:
        from distkb.catalogue.problem import CatalogueError
        from distkb.tui.knowledge import ScreenKnowledge

        try:
            loaded = ScreenKnowledge(self._overlays)
            loaded.warm()
        except (CatalogueError, OSError) as problem:
            self.post_message(self.KnowledgeBroken(str(problem)))
            return
        self.knowledge = loaded
        self.post_message(self.KnowledgeReady())
        # Screens are imported before they are needed: an import takes longer than a frame.
        for name in ("reading", "session", "fix", "entry", "open", "browse", "advise"):
            importlib.import_module(f"distkb.tui.screens.{name}")

    def on_distkb_app_knowledge_ready(self) -> None:
        """Go where the command line said."""
        for screen in self.screen_stack:
            ready = getattr(screen, "knowledge_ready", None)
            if callable(ready):
                ready()
        if self._resume is not None:
            self.resume_session(self._resume)
        elif self._given is not None:
            self.begin(*self._given)
        else:
            self.make_spare()

    @work(thread=True, group="spare")
    def make_spare(self) -> None:
        """Make ready what reads a log, while nobody waits for it."""
        self.spare.make()

    def on_distkb_app_knowledge_broken(self, message: KnowledgeBroken) -> None:
        """End with one line: without a catalogue there is nothing to show."""
        from rich.text import Text

        self.exit(3, message=Text(self.say("tui.knowledge-broken", reason=plain(message.reason))))

    # Ways from screen to screen

    def begin(self, description: str = "", paths: Sequence[Path] = (), pasted: str = "") -> None:
        """Start a session from words, from files, from a log that was pasted, or from all of it."""
        from distkb.tui.screens.reading import ReadingScreen

        if self.knowledge is None:
            self._given = (description, tuple(paths), pasted)
            return
        self._given = None
        self.ask(ReadingScreen(description=description, paths=tuple(paths), pasted=pasted), self._read)

    def _read(self, read: tuple[Session, Event | None] | None) -> None:
        """Open the session that reading led to; None where it was cancelled."""
        if read is None:
            return
        session, event = read
        self.open_session(session, event)

    def open_session(self, session: Session, event: Event | None = None) -> None:
        """Show a session, after one more event where there is one."""
        from distkb.tui.screens.session import SessionScreen

        if self.knowledge is None:
            return
        self.current = OpenSession(self.knowledge, session)
        self.last_session = session.id
        self.push_screen(SessionScreen())
        if event is None:
            self._look()
        else:
            self.apply(event)

    def read_into_session(self, paths: Sequence[Path], step: str | None) -> None:
        """Read folders or files into the open session; `step` is the session's step that it answers."""
        import msgspec

        from distkb.tui.screens.reading import ReadingScreen

        def done(read: tuple[Session, Event | None] | None) -> None:
            if read is not None and read[1] is not None:
                self.apply(msgspec.structs.replace(read[1], step=step))

        if self.current is not None:
            self.ask(ReadingScreen(paths=tuple(paths), session=self.current.session), done)

    @property
    def read(self) -> list[Path]:
        """What was read into the open session."""
        from distkb.diagnosis.session import EvidenceAdded

        events = () if self.current is None else self.current.session.events
        return [Path(path) for event in events if isinstance(event, EvidenceAdded) for path in event.paths]

    def close_session(self) -> None:
        """Put the session away, saved."""
        if self.current is not None:
            self._save(self.current)
        self.current = None

    def on_unmount(self) -> None:
        """Save what a thread did not come to, and leave no process behind."""
        self.close_session()
        self.spare.end()

    def resume_session(self, identity: str) -> None:
        """Go on with a saved session; `latest` is the one that was worked on last."""
        try:
            self.open_session(saved.load(identity))
        except saved.UnsavedError as problem:
            self.complain(problem)

    def complain(self, problem: saved.UnsavedError) -> None:
        """Say that a session could not be loaded or saved."""
        self.notify(plain(problem.sentence(self.say)), severity="error", markup=False)

    def apply(self, event: Event) -> None:
        """Add an event to the open session; what it changes is shown as soon as it is saved and known."""
        if self.current is not None:
            self.current.add(event)
            self._look()

    def _look(self) -> None:
        if self.current is not None:
            self._look_at(self.current, self.current.session)

    @work(thread=True, group="view")
    def _look_at(self, current: OpenSession, session: Session) -> None:
        self._save(current)
        view = current.look(session)
        if view is not None:
            self.post_message(self.Looked(session, view))

    def _save(self, current: OpenSession) -> None:
        try:
            current.save()
        except saved.UnsavedError as problem:
            self.post_message(self.Unsaved(problem))

    def on_distkb_app_unsaved(self, message: Unsaved) -> None:
        """Say it; the session goes on."""
        self.complain(message.problem)

    def on_distkb_app_looked(self, message: Looked) -> None:
        """Show what the last event changed."""
        if self.current is not None and self.current.show(message.session, message.view):
            for screen in self.screen_stack:
                screen.post_message(SessionChanged(message.view))

    # What holds at any moment

    def action_toggle_language(self) -> None:
        """Speak the other language from now on; nothing else changes."""
        self.say = Say("en" if self.say.lang == "ko" else "ko")
        self.remember(lang=self.say.lang)
        speak_all(self)

    def action_toggle_theme(self) -> None:
        """Go on to the next theme: dark, light, the terminal's own palette."""
        self.theme = THEMES[(THEMES.index(self.theme) + 1) % len(THEMES)] if self.theme in THEMES else DARK
        self.remember(theme=self.theme)

    def remember(self, **chosen: Any) -> None:
        """Keep what was chosen for the next start."""
        import msgspec

        self._habits = msgspec.structs.replace(self._habits, **chosen)
        habits.save(self._habits)

    @property
    def causes_width(self) -> int:
        """Share of a wide screen that the causes take, in percent."""
        return self._habits.causes_width or 50

    def _fatal_error(self) -> None:
        """End with one line instead of a traceback; DISTKB_TRACEBACK asks for it."""
        if os.environ.get("DISTKB_TRACEBACK"):
            super()._fatal_error()
            return
        from rich.text import Text

        bug = sys.exc_info()[1]
        message = self.say("error.internal", kind=type(bug).__name__, message=plain(str(bug)))
        self.panic(Text(f"distkb: {message}"))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """List what the command palette offers."""
        say = self.say
        commands = {
            "language": self.action_toggle_language,
            "theme": self.action_toggle_theme,
            "browse": self.browse,
            "glossary": self.show_glossary,
            "check": self.check_machine,
            "advise": self.advise,
            "help": self.action_help,
        }
        for name, action in commands.items():
            yield SystemCommand(say(f"tui.command.{name}"), say(f"tui.command.{name}.help"), action)
        own = getattr(screen, "commands", None)
        if callable(own):
            yield from own()
        yield SystemCommand(say("tui.command.quit"), say("tui.command.quit.help"), self.exit)


def run(
    say: Say,
    *,
    paths: Sequence[Path] = (),
    overlays: Sequence[Path] = (),
    resume: str | None = None,
    chosen: bool = True,
) -> int:
    """Run the screen until it is left, and say how to go on with its session; returns the exit code.

    `chosen`: the language was asked for now, so that a remembered one does not count.
    """
    remembered = habits.load()
    lang = as_language(remembered.lang)
    if lang is not None and not chosen:
        say = Say(lang)
    app = DistkbApp(say, paths=paths, overlays=overlays, resume=resume, remembered=remembered)
    code = app.run()
    if app.last_session is not None:
        sys.stderr.write(f"{app.say('tui.how-to-resume', id=app.last_session)}\n")
    return (UNABLE if app.return_code else 0) if code is None else code
