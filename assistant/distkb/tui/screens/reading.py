"""Reads what was given, in a process of its own, with progress; it can be cancelled at any time."""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import ProgressBar, Static

from distkb.diagnosis.session import Event, EvidenceAdded, Session
from distkb.intake_process import CancelledError, ReadingFailedError, ReadRequest
from distkb.tui import saved
from distkb.tui.dialog import Dialog
from distkb.tui.keys import KeyBar, key
from distkb.tui.language import say_of, shown
from distkb.tui.widgets.move import duration

if TYPE_CHECKING:
    from distkb.evidence.observation import Evidence, Skipped
    from distkb.intake_process import ReadingProcess
    from distkb.tui.app import DistkbApp

TITLE_LENGTH = 60
_MEBI = 1 << 20
_EVERY_S = 0.1
"""Seconds between two steps of the progress bar."""

Outcome = tuple[Session, Event | None]


class ReadingScreen(Dialog[Outcome | None]):
    """Shows how far reading has come; closes with the session that begins with what was read."""

    app: DistkbApp
    BINDINGS: ClassVar[list[BindingType]] = [key("escape", "cancel", "cancel")]

    class Progressed(Message):
        """So many bytes of so many were read."""

        def __init__(self, done: int, total: int) -> None:
            super().__init__()
            self.done = done
            self.total = total

    class Prepared(Message):
        """Patterns are compiled before anything is read, once after an install; `done` when they are."""

        def __init__(self, done: bool) -> None:
            super().__init__()
            self.done = done

    class Finished(Message):
        """All was read."""

        def __init__(
            self, evidence: Evidence, session: Session | None, problem: saved.UnsavedError | None = None
        ) -> None:
            super().__init__()
            self.evidence = evidence
            self.session = session
            self.problem = problem

    class Failed(Message):
        """Reading came to nothing."""

        def __init__(self, reason: str) -> None:
            super().__init__()
            self.reason = reason

    def __init__(
        self, *, description: str = "", paths: tuple[Path, ...] = (), pasted: str = "", session: Session | None = None
    ) -> None:
        """Read words, files, a log that was pasted, or all of it; into `session`, or into a new one."""
        super().__init__()
        self._description = description
        self._paths = paths
        self._pasted = pasted
        self._session = session
        self._reading: ReadingProcess | None = None
        self._amount = (0, 0)
        self._told = 0.0
        self._preparing = False
        self._began = monotonic()
        self._given_up = False

    def compose(self) -> ComposeResult:
        """Lay out the box."""
        with Vertical(id="reading-box"):
            yield Static(id="reading-title")
            yield Static(id="reading-what")
            yield ProgressBar(id="reading-bar", show_eta=False)
            yield Static(id="reading-amount")
        yield KeyBar()

    def on_mount(self) -> None:
        """Begin."""
        self.speak()
        self.set_interval(1.0, self._show_amount)
        self._read()

    def speak(self) -> None:
        """Say what is being read."""
        self.query_one("#reading-title", Static).update(Content(say_of(self)("tui.reading.title")))
        what = ", ".join(str(path) for path in self._paths) or self._description
        self.query_one("#reading-what", Static).update(shown(what))
        self._show_amount()

    def _show_amount(self) -> None:
        """Show how much was read, and for how long already."""
        done, total = self._amount
        say, time = say_of(self), duration(monotonic() - self._began, say_of(self))
        text = say("tui.reading.amount", done=f"{done / _MEBI:.1f}", total=f"{total / _MEBI:.1f}") if total else ""
        text = say("tui.reading.preparing") if self._preparing else text
        self.query_one("#reading-amount", Static).update(Content(f"{text}  {time}".strip()))

    @work(thread=True, group="reading")
    def _read(self) -> None:
        from distkb.sessions import pasted

        try:
            self._reading = self.app.spare.take()
            if self._given_up:
                self._reading.cancel()
            if self._pasted:
                self._paths = (*self._paths, pasted.keep(self._pasted))
            self._reading.ask(
                ReadRequest(
                    paths=tuple(str(path) for path in self._paths),
                    report=self._description or None,
                )
            )
            evidence = self._reading.result(self._read_so_far, self._prepares)
            if self._given_up:
                return
            if self._paths and not evidence.bytes_read and not self._description:
                self.post_message(self.Finished(evidence, None))
                return
            session, problem = (self._session, None) if self._session else saved.begin(self._title())
            self.post_message(self.Finished(evidence, session, problem))
        except CancelledError:
            return
        except (ReadingFailedError, OSError) as problem:
            self.post_message(self.Failed(str(problem)))

    def _prepares(self, now: bool) -> None:
        """Tell the screen that patterns are compiled, or no more; called from the reading thread."""
        self.post_message(self.Prepared(not now))

    def on_reading_screen_prepared(self, message: Prepared) -> None:
        """Say that it takes longer this once, and why."""
        self._preparing = not message.done
        self._show_amount()

    def _read_so_far(self, done: int, total: int) -> None:
        """Tell the screen how far it is, at most so often as somebody could see; called from the reading thread."""
        now = monotonic()
        if now - self._told >= _EVERY_S:
            self._told = now
            self.post_message(self.Progressed(done, total))

    def on_reading_screen_progressed(self, message: Progressed) -> None:
        """Show how far it is."""
        self._amount = (message.done, message.total)
        self.query_one(ProgressBar).update(total=message.total or None, progress=message.done)
        self._show_amount()

    def on_reading_screen_finished(self, message: Finished) -> None:
        """Hand over the session; where nothing at all could be read, say why and stay out of it."""
        evidence = message.evidence
        self._say_skipped(evidence.skipped)
        if message.problem is not None:
            self.app.complain(message.problem)
        if message.session is None:
            self.dismiss(None)
            return
        label = ", ".join(str(path) for path in self._paths) or "description"
        event = EvidenceAdded(label=label, evidence=evidence, paths=tuple(str(path) for path in self._paths))
        self.dismiss((message.session, event))

    def _title(self) -> str:
        words = " ".join(self._description.split())
        return (words or ", ".join("/".join(path.absolute().parts[-2:]) for path in self._paths))[:TITLE_LENGTH]

    def _say_skipped(self, skipped: tuple[Skipped, ...]) -> None:
        from distkb.report.skipped import sentence

        for item in skipped[:3]:
            self.app.notify(sentence(item, say_of(self)), severity="warning", markup=False)

    def on_reading_screen_failed(self, message: Failed) -> None:
        """Say that it failed and go back."""
        text = say_of(self)("tui.reading.failed", reason=message.reason)
        self.app.notify(text, severity="error", markup=False)
        self.dismiss(None)

    def action_cancel(self) -> None:
        """End the reading process and go back."""
        self.dismiss(None)

    def on_unmount(self) -> None:
        """Leave no process behind, however the screen was closed."""
        self._given_up = True
        if self._reading is not None:
            self._reading.cancel()
