"""An entry's failure, live: its program's output as it comes, and what the artifacts alone say."""

from __future__ import annotations

from contextlib import suppress
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import RichLog, Static

from distkb.evidence.text.clean import plain
from distkb.intake_process import CancelledError, ReadingFailedError, ReadingProcess, ReadRequest
from distkb.report.repro import Shown, run_text
from distkb.repro import verdict
from distkb.repro.folder import temporary
from distkb.repro.nodes import NodesUnavailableError
from distkb.repro.program import availability
from distkb.repro.run import Reproduction
from distkb.tui.keys import KeyBar, key
from distkb.tui.language import say_of

if TYPE_CHECKING:
    from pathlib import Path

    from distkb.catalogue.model import Entry
    from distkb.diagnosis.model import Diagnosis
    from distkb.probing.run import Stage
    from distkb.repro.program import Program
    from distkb.tui.app import DistkbApp
    from distkb.tui.knowledge import ScreenKnowledge


class ReproScreen(Screen[None]):
    """Runs one entry's program, broken or with its fix. Leaving or cancelling ends it with all its processes."""

    app: DistkbApp
    BINDINGS: ClassVar[list[BindingType]] = [
        key("r,enter", "start('broken')", "run-broken"),
        key("f", "start('fixed')", "run-fixed"),
        key("k", "cancel_run", "cancel"),
        key("escape", "back", "back"),
    ]

    class Output(Message):
        """The program has printed a line, or its stacks were taken."""

        def __init__(self, event: Stage | str) -> None:
            super().__init__()
            self.event = event

    class Available(Message):
        """It is known whether the program can run here, under which Python."""

        def __init__(self, program: Program | None, reason: str | None, python: Path) -> None:
            super().__init__()
            self.program = program
            self.reason = reason
            self.python = python

    class Answered(Message):
        """What a run has shown is known."""

        def __init__(self, shown: Shown) -> None:
            super().__init__()
            self.shown = shown

    class Broken(Message):
        """There was no run to the end."""

        def __init__(self, reason: str) -> None:
            super().__init__()
            self.reason = reason

    def __init__(self, entry: Entry) -> None:
        """Take the entry."""
        super().__init__()
        self._entry = entry
        self._here: ReproScreen.Available | None = None
        self._reproduction: Reproduction | None = None
        self._reading: ReadingProcess | None = None
        self._under_way = False
        self._began = 0.0
        self._given_up = False
        self._said: list[Stage | str] = []
        self._shown: Shown | None = None

    def compose(self) -> ComposeResult:
        """Lay out the output above the answer."""
        yield Static(id="repro-title")
        yield Static(id="repro-what")
        yield Static(id="repro-state")
        yield RichLog(id="repro-output", markup=False, highlight=False, wrap=True, max_lines=2000)
        with VerticalScroll(id="repro-result"):
            yield Static(id="repro-answer", markup=False)
        yield KeyBar()

    def on_mount(self) -> None:
        """Say what would run, and find out whether it can."""
        self.query_one("#repro-result").display = False
        self.speak()
        self.set_interval(1.0, self._tick)
        self._ask()

    def speak(self) -> None:
        """Say everything in the language of the app."""
        say, entry = say_of(self), self._entry
        title = Content.assemble((f"{entry.id}  ", "bold $accent"), (say.text(entry.title), "bold"))
        self.query_one("#repro-title", Static).update(title)
        self.query_one("#repro-what", Static).update(Content(self._what()))
        self._say_state()
        log = self.query_one(RichLog)
        log.clear()
        for event in self._said:
            self._say_line(event)
        self._show_answer()

    def _what(self) -> str:
        """Say what would run, or why it cannot."""
        say, here = say_of(self), self._here
        if here is None:
            return say("tui.repro.looking")
        if here.reason is not None or here.program is None:
            spec = self._entry.repro
            hardware = say.text(spec.hardware) if spec is not None and spec.hardware is not None else ""
            return say(f"repro.reason.{here.reason or 'not-written'}", python=str(here.python), hardware=hardware)
        spec = here.program.spec
        return say("tui.repro.what", python=plain(str(here.python)), seconds=f"{spec.seconds:.0f}")

    def _say_state(self) -> None:
        runnable = self._here is not None and self._here.reason is None
        name = "running" if self._under_way else "idle" if self._shown is None else "done"
        text = say_of(self)(f"tui.repro.{name}", n=f"{monotonic() - self._began:.0f}") if runnable else ""
        self.query_one("#repro-state", Static).update(Content(text))
        self.refresh_bindings()

    def _tick(self) -> None:
        """Let the time go on while the program runs."""
        if self._under_way:
            self._say_state()

    @work(thread=True, group="python")
    def _ask(self) -> None:
        from distkb.catalogue.places import knowledge_bases
        from distkb.probing.interpreter import find_interpreter

        known = self.app.knowledge
        python = find_interpreter().path
        found = availability(self._entry, knowledge_bases(() if known is None else known.overlays), python)
        self.post_message(self.Available(found.program, found.reason, python))

    def on_repro_screen_available(self, message: Available) -> None:
        """Offer to run it, or say why not."""
        self._here = message
        self.speak()

    # Running

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Offer to run what can run and is not running, and to cancel what is."""
        if action == "cancel_run":
            return self._under_way
        if action == "start":
            return self._here is not None and self._here.reason is None and not self._under_way
        return True

    def action_start(self, state: str) -> None:
        """Run the program."""
        here, known = self._here, self.app.knowledge
        if here is None or here.program is None or known is None or self._under_way:
            return
        self._under_way, self._given_up, self._shown = True, False, None
        self._began = monotonic()
        self._said.clear()
        self.query_one(RichLog).clear()
        self.query_one("#repro-result").display = False
        self._say_state()
        self._carry_out(here.program, here.python, known, fixed=state == "fixed")

    @work(thread=True, group="repro")
    def _carry_out(self, program: Program, python: Path, known: ScreenKnowledge, *, fixed: bool) -> None:
        def listen(event: Stage | str) -> None:
            self.post_message(self.Output(event))

        try:
            with temporary() as folder:
                self._reproduction = Reproduction(program, folder, python, fixed=fixed, listener=listen)
                if self._given_up:
                    self._reproduction.cancel()
                run = self._reproduction.result()
                if run.reason is not None:
                    self.post_message(self.Broken(run.detail or run.reason))
                    return
                diagnosis = self._diagnose(folder, known)
        except CancelledError:
            self.post_message(self.Broken("cancelled"))
        except (NodesUnavailableError, ReadingFailedError, OSError) as problem:
            self.post_message(self.Broken(str(problem)))
        else:
            entry = program.entry
            judged = verdict.broken(entry, diagnosis)
            if fixed:
                judged = verdict.fixed(entry, diagnosis, known.catalogue, succeeded=run.succeeded)
            self.post_message(self.Answered(Shown(run=run, verdict=judged, fixed=fixed)))
        finally:
            self._reproduction = None

    def _diagnose(self, folder: Path, known: ScreenKnowledge) -> Diagnosis:
        """Read the artifacts in a process of its own, so that the screen stays quick."""
        from distkb.diagnosis.batch import diagnose

        self._reading = ReadingProcess(ReadRequest(paths=(str(folder),)), overlays=known.overlays)
        if self._given_up:
            self._reading.cancel()
        try:
            evidence = self._reading.result()
        finally:
            self._reading = None
        return diagnose(known.guide, evidence)

    def on_repro_screen_output(self, message: Output) -> None:
        """Show the live output."""
        self._said.append(message.event)
        self._say_line(message.event)

    def _say_line(self, event: Stage | str) -> None:
        if not isinstance(event, str):
            say = say_of(self)
            name = f"repro.stage.{event.stage.removeprefix('repro.')}"
            if not say.knows(name):
                return
            event = say(name, **event.values)
        self.query_one(RichLog).write(Text(plain(event.removeprefix("| "))))

    def on_repro_screen_broken(self, message: Broken) -> None:
        """Say that there was no run to the end."""
        self._under_way = False
        self._say_state()
        if message.reason == "cancelled":
            self.notify(say_of(self)("tui.repro.cancelled"), markup=False)
        else:
            text = say_of(self)("repro.broke-off", id=self._entry.id, detail=plain(message.reason))
            self.notify(text, severity="error", markup=False)

    def on_repro_screen_answered(self, message: Answered) -> None:
        """Show what the run has shown."""
        self._under_way, self._shown = False, message.shown
        self._say_state()
        self._show_answer()

    def _show_answer(self) -> None:
        known = self.app.knowledge
        if self._shown is None or known is None:
            return
        columns = max(40, self.app.size.width - 4)
        text = run_text(self._shown, known.meanings, say_of(self), kept=None, columns=columns)
        self.query_one("#repro-answer", Static).update(Content(text))
        self.query_one("#repro-result").display = True

    def action_cancel_run(self) -> None:
        """End the run; a thread waits until all its processes are gone."""
        self._given_up = True
        reproduction, reading = self._reproduction, self._reading
        if reading is not None:
            with suppress(OSError):
                reading.cancel()
        if reproduction is not None:
            Thread(target=reproduction.cancel).start()

    def action_back(self) -> None:
        """Go back; what runs is ended."""
        self.dismiss(None)

    def on_unmount(self) -> None:
        """Leave no process behind, however the screen was closed."""
        self.action_cancel_run()
