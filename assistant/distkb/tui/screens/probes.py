"""Probes: what each will run, how long it takes and what it touches; its live output; and what it found."""

from __future__ import annotations

from pathlib import Path
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import OptionList, RichLog, Static
from textual.widgets.option_list import Option

from distkb.diagnosis.session import ProbeResult
from distkb.evidence.text.clean import plain
from distkb.probing.document import ProbeAnswer
from distkb.probing.registry import PROBES
from distkb.probing.run import ProbeRun, Stage
from distkb.report import probe as report
from distkb.tui.answered import body, conclude, files_found, status_of
from distkb.tui.keys import KeyBar, key
from distkb.tui.language import fit, say_of
from distkb.tui.widgets.listing import refill
from distkb.tui.widgets.prompt import Field

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distkb.probing.interpreter import Interpreter
    from distkb.tui.app import DistkbApp
    from distkb.watching.whereabouts import ProbeFiles


class ProbesScreen(Screen[None]):
    """Offers the probes and runs one at a time. Leaving or cancelling ends it with all its processes."""

    app: DistkbApp
    BINDINGS: ClassVar[list[BindingType]] = [
        key("k", "cancel_run", "cancel"),
        key("o", "read_entry", "read-entry"),
        key("p", "other_path", "other-path"),
        key("escape", "back", "back"),
    ]

    class Output(Message):
        """The probe said something."""

        def __init__(self, event: Stage | str) -> None:
            super().__init__()
            self.event = event

    class Broken(Message):
        """The probe could not be started."""

        def __init__(self, reason: str) -> None:
            super().__init__()
            self.reason = reason

    class PythonFound(Message):
        """It is known which Python the probes run under."""

        def __init__(self, python: Interpreter) -> None:
            super().__init__()
            self.python = python

    class FilesFound(Message):
        """It is known where the files of a probe lie."""

        def __init__(self, probe: str, found: ProbeFiles) -> None:
            super().__init__()
            self.probe = probe
            self.found = found

    class Answered(Message):
        """The probe came to its end."""

        def __init__(self, answer: ProbeAnswer) -> None:
            super().__init__()
            self.answer = answer

    def __init__(self, probe: str | None = None, step: str | None = None) -> None:
        """Offer all probes, with `probe` chosen; `step` is the session's step that it answers."""
        super().__init__()
        self._wanted = probe
        self._step = step
        self._run: ProbeRun | None = None
        self._probing = False
        self._began = 0.0
        self._given_up = False
        self._said: list[Stage | str] = []
        self._answer: ProbeAnswer | None = None
        self._request: dict[str, Any] = {}
        self.python: Interpreter | None = None
        """Which Python the probes run under; None while it is looked for."""
        self._files: dict[str, ProbeFiles] = {}
        """For each probe that was looked at: the files it would read."""

    def compose(self) -> ComposeResult:
        """Lay out the choice above the output."""
        yield Static(id="probes-title")
        yield OptionList(id="probes-list")
        yield Static(id="probes-what")
        yield Field(id="probes-field")
        yield Static(id="probes-state")
        yield RichLog(id="probes-output", markup=False, highlight=False, wrap=True, max_lines=2000)
        with VerticalScroll(id="probes-result"):
            yield Static(id="probes-answer", markup=False)
        yield KeyBar()

    def on_mount(self) -> None:
        """Offer the probes and find the Python to run them with."""
        self.query_one("#probes-result").display = False
        self.query_one("#probes-field").display = False
        self.speak()
        listing = self.query_one("#probes-list", OptionList)
        names = list(PROBES)
        first = "stacks" if self.app.jobs else "env"
        listing.highlighted = names.index(self._wanted if self._wanted in names else first)
        listing.focus()
        self.set_interval(1.0, self._tick)
        self._find_python()

    def speak(self) -> None:
        """Say everything in the language of the app."""
        say = say_of(self)
        self.query_one("#probes-title", Static).update(Content.styled(say("tui.probes.title"), "bold"))
        self._list()
        self._say_what()
        self._say_state()
        log = self.query_one(RichLog)
        log.clear()
        for event in self._said:
            self._say_line(event)
        if self._answer is not None:
            self._show_answer(self._answer)

    def _list(self) -> None:
        """List the probes, one line each: a row that wraps would push the last one out of sight."""
        say, room = say_of(self), max(20, self.app.size.width - 22)
        rows = (
            Option(Content.assemble((f"{name:<17}", "bold $accent"), fit(say(f"tui.probes.{name}"), room)), id=name)
            for name in PROBES
        )
        refill(self.query_one("#probes-list", OptionList), rows)

    def on_resize(self) -> None:
        """Cut the rows where the new width ends."""
        self._list()

    @on(OptionList.OptionHighlighted, "#probes-list")
    def _say_what(self) -> None:
        """Say what the chosen probe would run, before it runs."""
        say, name = say_of(self), self._highlighted()
        if name is None:
            return
        python = say("tui.probes.looking") if self.python is None else plain(str(self.python.path))
        text = say(f"tui.probes.{name}.what", python=python)
        if PROBES[name].way == "path":
            if name in self._files:
                text = f"{text} {files_found(self._files[name], say)}"
            else:
                self._find_files(name)
        self.query_one("#probes-what", Static).update(Content(text))
        self.refresh_bindings()

    def _highlighted(self) -> str | None:
        at = self.query_one("#probes-list", OptionList).highlighted
        return None if at is None else list(PROBES)[at]

    @work(thread=True, group="files", exclusive=True)
    def _find_files(self, probe: str) -> None:
        from distkb.watching.whereabouts import look_for

        self.post_message(self.FilesFound(probe, look_for(probe, self.app.jobs, self.app.read, Path.cwd())))

    def on_probes_screen_files_found(self, message: FilesFound) -> None:
        """Say which they are."""
        self._files[message.probe] = message.found
        if self._highlighted() == message.probe:
            self._say_what()

    def _say_state(self) -> None:
        """Say whether a probe runs, and how it begins and ends."""
        name = "running" if self._probing else "idle" if self._answer is None else "done"
        self.set_class(name != "idle", "under-way")
        text = say_of(self)(f"tui.probes.{name}", n=f"{monotonic() - self._began:.0f}")
        self.query_one("#probes-state", Static).update(Content(text))

    def _tick(self) -> None:
        """Let the time go on while a probe runs."""
        if self._probing:
            self._say_state()

    @work(thread=True, group="python")
    def _find_python(self) -> None:
        from distkb.probing.interpreter import find_interpreter

        self.post_message(self.PythonFound(find_interpreter()))

    def on_probes_screen_python_found(self, message: PythonFound) -> None:
        """Say which Python it is."""
        self.python = message.python
        self._say_what()

    # Running

    @on(OptionList.OptionSelected, "#probes-list")
    def _start(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if self._probing or not event.option.id:
            return
        name = event.option.id
        match PROBES[name].way:
            case "look":
                self._look()
            case "path":
                found = self._files.get(name)
                if found is not None and found.paths:
                    self._read(found.paths, PROBES[name].step)
                else:
                    self._open(PROBES[name].step)
            case "callable" | "peer":
                field = self.query_one("#probes-field", Field)
                field.placeholder = say_of(self)(f"tui.probes.{name}.field")
                field.display = True
                field.focus()
            case _:
                self._begin(name, {})

    @on(Field.Submitted, "#probes-field")
    def _named(self, event: Field.Submitted) -> None:
        event.stop()
        if self._highlighted() == "network":
            self._talk(event.value)
        elif event.value.strip():
            request = {"loader": event.value.strip(), "world_size": 4, "epochs": 2, "max_batches": 50}
            self._begin("loader", {**request, "seconds": 90.0, "directory": str(Path.cwd())})

    def _talk(self, typed: str) -> None:
        """Wait for the other machine, or connect to the one that waits: its whole command may be given."""
        from distkb.probing import peers

        try:
            self._begin("network", *peers.typed(typed))
        except peers.NoPeerError as problem:
            self.notify(say_of(self)("network.peer", given=plain(str(problem))), severity="error", markup=False)

    def _look(self) -> None:
        if not self.app.jobs:
            self.notify(say_of(self)("tui.look.none"), markup=False)
        else:
            self.app.look(self.app.jobs[0], lambda folder: self._read((folder,), "collect.stacks"))

    def _open(self, step: str) -> None:
        from distkb.tui.screens.open import OpenScreen

        self.app.push_screen(OpenScreen(), lambda path: self._read((path,), step) if path else None)

    def _read(self, paths: Sequence[Path], step: str) -> None:
        """Read them into the open session, or into a new one: its verdict leads."""
        if self.app.current is None:
            self.app.begin(paths=paths)
        else:
            self.app.back_to_session()
            self.app.read_into_session(paths, step)

    def _begin(self, probe: str, request: dict[str, Any], deadline_s: float = 0.0) -> None:
        if self._probing:
            return
        if self.python is None:
            self.notify(say_of(self)("tui.probes.looking"), markup=False)
            return
        self._probing, self._given_up, self._answer = True, False, None
        self._began = monotonic()
        self._said.clear()
        self.query_one(RichLog).clear()
        self.query_one("#probes-result").display = False
        self.query_one("#probes-field").display = False
        self._say_state()
        self.refresh_bindings()
        self._request = request
        self._carry_out(probe, request, self.python, deadline_s or PROBES[probe].deadline_s)

    @work(thread=True, group="probe")
    def _carry_out(self, probe: str, request: dict[str, Any], python: Interpreter, deadline_s: float) -> None:
        known = self.app.knowledge
        if known is None:
            return

        def listen(event: Stage | str) -> None:
            self.post_message(self.Output(event))

        try:
            self._run = ProbeRun(probe, request, python.path, deadline_s=deadline_s, listener=listen)
            if self._given_up:
                self._run.cancel()
            raw = self._run.result()
        except OSError as problem:
            self.post_message(self.Broken(problem.strerror or type(problem).__name__))
            return
        finally:
            self._run = None
        self.post_message(self.Answered(conclude(probe, raw, known, python)))

    def on_probes_screen_output(self, message: Output) -> None:
        """Show the live output."""
        from distkb.probing.peers import start_other

        self._said.append(message.event)
        self._say_line(message.event)
        command = start_other(message.event, self._request) if "listen" in self._request else None
        if command is not None:
            self._said.append(say_of(self)("network.start-other", command=command))
            self._say_line(self._said[-1])
            self.app.copy(command)

    def _say_line(self, event: Stage | str) -> None:
        say = say_of(self)
        if isinstance(event, Stage):
            name = f"probe.stage.{event.stage}"
            event = say(name, **event.values) if say.knows(name) else event.stage
        self.query_one(RichLog).write(Text(plain(event)))

    def on_probes_screen_broken(self, message: Broken) -> None:
        """Say that it could not be started."""
        self._probing = False
        self._say_state()
        self.refresh_bindings()
        self.notify(say_of(self)("tui.probes.broken", reason=message.reason), severity="error", markup=False)

    def on_probes_screen_answered(self, message: Answered) -> None:
        """Show what was found, and tell the session."""
        answer = self._answer = message.answer
        self._probing = False
        self._say_state()
        self.refresh_bindings()
        self._show_answer(answer)
        if self.app.current is not None:
            present = tuple(o for o in answer.observations if o.present)
            clear = tuple(o.id for o in answer.observations if not o.present)
            step = self._step or PROBES[answer.probe].step
            self.app.apply(ProbeResult(step=step, observations=present, clear=clear, status=status_of(answer)))

    def _show_answer(self, answer: ProbeAnswer) -> None:
        say = say_of(self)
        columns = max(40, self.app.size.width - 4)
        text = report.write(answer, say, columns=columns, body=body(answer, say, columns))
        self.query_one("#probes-answer", Static).update(Content(text))
        self.query_one("#probes-result").display = True

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Offer to cancel only what runs, and to read only what was found."""
        if action == "cancel_run":
            return self._probing
        if action == "other_path":
            return bool(self._files.get(self._highlighted() or "", ((),))[0])
        return action != "read_entry" or self._entry() is not None

    def action_other_path(self) -> None:
        """Ask for other files than those that were found."""
        name = self._highlighted()
        if name is not None:
            self._open(PROBES[name].step)

    def action_cancel_run(self) -> None:
        """End the running probe; a thread waits until all its processes are gone."""
        self._given_up = True
        run = self._run
        if run is not None:
            Thread(target=run.cancel).start()

    def _entry(self) -> str | None:
        for reported in () if self._answer is None else self._answer.reported:
            if reported.finding.entry:
                return reported.finding.entry.partition(".")[0]
        return None

    def action_read_entry(self) -> None:
        """Read the entry that the first finding points to."""
        entry = self._entry()
        if entry is not None:
            self.app.show_entry(entry)

    def action_back(self) -> None:
        """Go back; what runs is ended."""
        self.dismiss(None)

    def on_unmount(self) -> None:
        """Leave no process behind, however the screen was closed."""
        self.action_cancel_run()
