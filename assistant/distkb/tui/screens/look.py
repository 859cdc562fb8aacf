"""Looks at a job that runs here: takes its stacks and logs while the time goes on, and hands over what was kept."""

from __future__ import annotations

from pathlib import Path
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from distkb.tui.dialog import Dialog
from distkb.tui.keys import KeyBar, key
from distkb.tui.language import say_of
from distkb.tui.widgets.move import offer

if TYPE_CHECKING:
    from distkb.probing.run import ProbeRun
    from distkb.tui.app import DistkbApp
    from distkb.watching.look import LocalJob


class LookScreen(Dialog[Path | None]):
    """Closes with the folder that holds what was taken, or None."""

    app: DistkbApp
    BINDINGS: ClassVar[list[BindingType]] = [key("escape", "cancel", "cancel")]

    class Taken(Message):
        """It is done; without a folder where no stack could be taken, with a reason where nothing could be kept."""

        def __init__(self, folder: Path | None, reason: str = "") -> None:
            super().__init__()
            self.folder = folder
            self.reason = reason

    def __init__(self, job: LocalJob) -> None:
        """Take the job to look at."""
        super().__init__()
        self._job = job
        self._run: ProbeRun | None = None
        self._began = monotonic()
        self._given_up = False

    def compose(self) -> ComposeResult:
        """Lay out the box."""
        with Vertical(id="look-box"):
            yield Static(id="look-title")
            yield Static(id="look-time")
        yield KeyBar()

    def on_mount(self) -> None:
        """Begin."""
        self.speak()
        self.set_interval(0.5, self._tick)
        self._look()

    def speak(self) -> None:
        """Say what is looked at."""
        self.query_one("#look-title", Static).update(Content(offer(self._job, say_of(self), asked=False)))
        self._tick()

    def _tick(self) -> None:
        text = say_of(self)("tui.look.running", n=f"{monotonic() - self._began:.0f}")
        self.query_one("#look-time", Static).update(Content(text))

    @work(thread=True, group="look")
    def _look(self) -> None:
        from distkb.watching.look import look

        try:
            folder = look(self._job, self._started)
        except OSError as problem:
            self.post_message(self.Taken(None, problem.strerror or type(problem).__name__))
        else:
            if not self._given_up:
                self.post_message(self.Taken(folder))

    def _started(self, run: ProbeRun) -> None:
        self._run = run
        if self._given_up:
            run.cancel()

    def on_look_screen_taken(self, message: Taken) -> None:
        """Hand it over; where there is nothing, say so."""
        if message.folder is None:
            text = say_of(self)("tui.look.nothing", reason=message.reason)
            self.app.notify(text, severity="error", markup=False)
        self.dismiss(message.folder)

    def action_cancel(self) -> None:
        """Go back; what runs is ended."""
        self.dismiss(None)

    def on_unmount(self) -> None:
        """Leave no process behind, however the screen was closed."""
        self._given_up = True
        if self._run is not None:
            Thread(target=self._run.cancel).start()
