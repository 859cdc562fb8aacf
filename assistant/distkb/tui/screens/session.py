"""The session: the next move, the causes, and the trail of what led to them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from distkb.diagnosis.moves import Ask, Done, Move, Take, TryFix
from distkb.diagnosis.session import DontKnow, FixTried, Redone, StepDeclined, Undone, can_redo, can_undo
from distkb.report.certainty import certainty
from distkb.report.rollcall import lines as roll_call
from distkb.report.story import tell
from distkb.tui.keys import KeyBar, key
from distkb.tui.language import beginning, fit, say_of
from distkb.tui.open_session import SessionChanged
from distkb.tui.widgets.causes import CauseList
from distkb.tui.widgets.move import LETTERS, SILENT_S, UNKNOWN, Look, MovePanel, runnable
from distkb.tui.widgets.panes import Panes
from distkb.tui.widgets.trail import Trail

if TYPE_CHECKING:
    from distkb.diagnosis.view import SessionView
    from distkb.tui.app import DistkbApp
    from distkb.watching.look import LocalJob

TALL = 34
"""Lines from which there is room for more of the roll call."""
ROLL, ROLL_LOW = 4, 2
"""Lines of the roll call on a tall screen, and on a low one that has nothing else to say."""


class SessionScreen(Screen[None]):
    """Shows the open session and turns decisions into its events."""

    app: DistkbApp
    BINDINGS: ClassVar[list[BindingType]] = [
        key("f", "fix", "fix"),
        key("u", "undo", "undo"),
        key("r", "redo", "redo", show=False),
        key("s", "other_move", "other-move"),
        *(Binding(str(n), f"choose({n})", show=False) for n in range(10)),
        *(Binding(letter, f"choose({n})", show=False) for n, letter in enumerate(LETTERS, 10)),
        key("d", "unknown", "unknown", show=False),
        key("w", "why", "why", show=False),
        key("a", "add", "add"),
        key("c", "focus_causes", "causes"),
        key("e", "focus_trail", "evidence"),
        key("t", "course", "course"),
        key("o", "read_entry", "read-entry"),
        key("x", "export", "export"),
        key("left_square_bracket", "widen(10)", "wider", show=False),
        key("right_square_bracket", "widen(-10)", "narrower", show=False),
        key("q", "leave", "leave"),
        key("escape", "step_back", "back", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._offered = 0
        """Which of the moves is shown: 0 is the best one, the rest are the alternatives."""

    def compose(self) -> ComposeResult:
        """Lay out the three parts; the style sheet puts them beside or below one another."""
        known = self.app.knowledge
        if known is None:
            return
        yield Static(id="session-title")
        yield Static(id="session-story")
        with Panes(id="session-body"):
            with Vertical(id="session-left"):
                yield MovePanel(id="session-move")
                yield Static(id="session-trail-title")
                yield Trail(known, id="session-trail")
            with Vertical(id="session-right"):
                yield Static(id="session-causes-title")
                yield CauseList(known, id="session-causes")
        yield KeyBar()

    def on_mount(self) -> None:
        """Show the session as it stands."""
        self.speak()
        if self.app.current is not None and self.app.current.view is not None:
            self._show(self.app.current.view)
        self.query_one(MovePanel).focus_options()

    def on_resize(self) -> None:
        """Cut the title where the new width ends."""
        self._title()

    def action_widen(self, by: int) -> None:
        """Give the causes more room on a wide screen, or less; it is remembered."""
        self.app.remember(causes_width=min(70, max(30, self.app.causes_width + by)))
        self.query_one(Panes).share()

    def speak(self) -> None:
        """Say the headings; the parts speak for themselves."""
        say = say_of(self)
        self.query_one("#session-trail-title", Static).update(Content(say("tui.session.trail")))
        self._title()
        if self.app.current is not None and self.app.current.view is not None:
            self._tell(self.app.current.view)

    def _title(self) -> None:
        current = self.app.current
        if current is None:
            return
        title = fit(current.session.title or current.session.id, max(10, self.app.size.width - 10))
        self.query_one("#session-title", Static).update(Content.assemble(("distkb", "bold $accent"), "  ", title))

    # Showing

    @on(SessionChanged)
    def _changed(self, message: SessionChanged) -> None:
        self._show(message.view)

    def _show(self, view: SessionView) -> None:
        self._offered = 0
        self._tell(view)
        self.query_one(MovePanel).show(self._moves()[0])
        self.query_one(CauseList).show(view)
        self.query_one(Trail).show(view)
        self._title()
        self.refresh_bindings()

    def _tell(self, view: SessionView) -> None:
        """Say what happened, as the command line does, and with room, or for want of it, what became of the ranks."""
        known, say, evidence = self.app.knowledge, say_of(self), view.diagnosis.evidence
        story = self.query_one("#session-story", Static)
        told = "" if known is None else tell(evidence, known.meanings, say)
        shown = ROLL if self.app.size.height >= TALL else 0 if told else ROLL_LOW
        roll = roll_call(evidence.ranks, say)[:shown]
        parts = [Content.styled(beginning(told, self.app.size), "bold")] if told else []
        parts += [Content.styled(f"  {line}", "dim") for line in roll]
        self._say_sure(view)
        story.display = bool(parts)
        story.update(Content("\n").join(parts))

    def _say_sure(self, view: SessionView) -> None:
        """Say how sure it is, and how the move that is shown would make it surer."""
        say, moves, known = say_of(self), self._moves(), self.app.knowledge
        move = moves[self._offered] if self._offered < len(moves) else None
        told = certainty(view, say, None if isinstance(move, Look) else move, known.meanings if known else None)
        line = Content.assemble((say("tui.session.causes"), "bold underline"), "  ", told)
        self.query_one("#session-causes-title", Static).update(line)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Offer to undo or redo only what there is."""
        view = None if self.app.current is None else self.app.current.view
        if action == "undo":
            return view is not None and view.can_undo
        if action == "redo":
            return view is not None and view.can_redo
        return True

    def commands(self) -> Iterator[SystemCommand]:
        """Yield what the command palette offers here."""
        say = say_of(self)
        for name in ("course", "fix", "undo", "redo", "other-move", "add", "export", "leave"):
            action = getattr(self, f"action_{name.replace('-', '_')}")
            yield SystemCommand(say(f"tui.command.{name}"), say(f"tui.command.{name}.help"), action)

    # Decisions

    @on(MovePanel.Decided)
    def _decided(self, message: MovePanel.Decided) -> None:
        if self.app.current is None or self.app.current.busy:
            return  # the answer was to what is no longer asked
        options, panel = message.options, self.query_one(MovePanel)
        match message.move:
            case Ask(question=question):
                panel.wait()
                self.app.apply(question.unknown() if options == (UNKNOWN,) else question.answer(*options))
            case Take():
                self._take(message.move, options[0])
            case Look(job=job) if options == ("look",):
                self.app.look(job, partial(self._looked, job))
            case Look(job=job):
                self.app.dismiss_job(job)
                self._offer(0)
            case TryFix(fix=fix):
                if options == ("open",):
                    self.app.show_fix(fix.id)
                else:
                    self._check_more()
            case Done(entry=entry) if options == ("read",):
                self.app.show_entry(entry.id)
            case _ if options == ("add",):
                self.action_add()
            case _:
                self._export(upstream=options == ("report",))

    def _take(self, move: Take, option: str) -> None:
        if option == "run":
            self.app.check_machine(runnable(move.step), move.step.id)
        elif option == "commands":
            self.app.copy("\n".join(move.step.commands))
        elif option == "add":
            self._open(move.step.id)
        else:
            self.query_one(MovePanel).wait()
            self.app.apply(StepDeclined(step=move.step.id))

    def _moves(self) -> tuple[Move | Look, ...]:
        """Return what to do now, best first; a silent job that runs here comes before anything else."""
        view = None if self.app.current is None else self.app.current.view
        if view is None:
            return ()
        moves: tuple[Move | Look, ...] = (view.next, *view.alternatives)
        if not self.app.jobs or self.app.looked:
            return moves
        job = self.app.jobs[0]
        silent = job.silent_s is None or job.silent_s >= SILENT_S
        return (Look(job), *moves) if silent and self._about(job) else (*moves, Look(job))

    def _looked(self, job: LocalJob, folder: Path) -> None:
        """Read what was taken into this session where it is about the job, else into a new one."""
        if self._about(job):
            self._read(folder, "collect.stacks")
        else:
            self.app.home()
            self.app.begin(paths=[folder])

    def _about(self, job: LocalJob) -> bool:
        """Whether the session may be about a job."""
        from distkb.watching.look import may_be_of

        return may_be_of(job, self.app.read)

    def _offer(self, number: int) -> None:
        self._offered = number
        panel = self.query_one(MovePanel)
        panel.show(self._moves()[number])
        panel.focus_options()
        if self.app.current is not None and self.app.current.view is not None:
            self._say_sure(self.app.current.view)

    def action_other_move(self) -> None:
        """Show the next best move instead; after the last one the best comes again."""
        moves = self._moves()
        if len(moves) > 1:
            self._offer((self._offered + 1) % len(moves))

    def _check_more(self) -> None:
        """Show the best move that is no fix."""
        checks = [number for number, move in enumerate(self._moves()) if isinstance(move, Ask | Take)]
        if checks:
            self._offer(checks[0])
        else:
            self.notify(say_of(self)("tui.session.nothing-more"), markup=False)

    def action_choose(self, number: int) -> None:
        """Answer, wherever the focus is."""
        self.query_one(MovePanel).action_choose(number)

    def action_unknown(self) -> None:
        """Say that it is not known, wherever the focus is."""
        self.query_one(MovePanel).action_unknown()

    def action_why(self) -> None:
        """Show or hide why this is asked, wherever the focus is."""
        self.query_one(MovePanel).action_why()

    def action_undo(self) -> None:
        """Take the last event back."""
        current = self.app.current
        if current is not None and can_undo(current.session.events):
            self.app.apply(Undone())

    def action_redo(self) -> None:
        """Take the last undo back."""
        current = self.app.current
        if current is not None and can_redo(current.session.events):
            self.app.apply(Redone())

    def action_fix(self) -> None:
        """Read the first fix that was not tried, of the chosen entry or of the most probable cause."""
        view = None if self.app.current is None else self.app.current.view
        if view is None:
            return
        causes = self.query_one(CauseList)
        entry = causes.chosen if causes.has_focus else None
        tried = {item.event.fix for item in view.trail if item.state == "counts" and isinstance(item.event, FixTried)}
        of = [ranked.cause for ranked in view.diagnosis.causes if entry is None or ranked.entry.id == entry]
        fixes = next(([fix.id for fix in cause.fixes] for cause in of if cause.fixes), [])
        if fixes:
            self.app.show_fix(next((fix for fix in fixes if fix not in tried), fixes[0]))

    def action_add(self) -> None:
        """Add a folder or file to what is known."""
        self._open(None)

    def _open(self, step: str | None) -> None:
        from distkb.tui.screens.open import OpenScreen

        self.app.push_screen(OpenScreen(), lambda path: self._read(path, step) if path else None)

    def _read(self, path: Path, step: str | None) -> None:
        self.app.read_into_session([path], step)

    # Looking closer

    @on(CauseList.Chosen)
    def _explain(self, message: CauseList.Chosen) -> None:
        from distkb.tui.screens.explain import ExplainScreen

        self.app.push_screen(ExplainScreen(message.entry))

    def action_read_entry(self) -> None:
        """Read the entry of the chosen cause, or of the most probable one."""
        entry = self.query_one(CauseList).chosen
        if entry is not None:
            self.app.show_entry(entry)

    @on(Trail.QuoteChosen)
    def _show_quote(self, message: Trail.QuoteChosen) -> None:
        from distkb.tui.screens.context import ContextScreen

        self.app.push_screen(ContextScreen(message.quote))

    @on(Trail.FactChosen)
    def _correct(self, message: Trail.FactChosen) -> None:
        """Ask what was read wrongly; the answer counts in place of it."""
        from distkb.tui.screens.change import ChangeScreen

        self.app.push_screen(
            ChangeScreen(DontKnow(question=message.fact)), lambda event: self.app.apply(event) if event else None
        )

    @on(Trail.EventChosen)
    def _change_event(self, message: Trail.EventChosen) -> None:
        from distkb.tui.screens.change import ChangeScreen

        if self.app.current is not None:
            self.app.push_screen(
                ChangeScreen(self.app.current.session.events[message.number], message.number),
                lambda event: self.app.apply(event) if event else None,
            )

    def action_course(self) -> None:
        """Show what happened in order of time."""
        from distkb.tui.screens.course import CourseScreen

        self.app.push_screen(CourseScreen())

    def action_focus_causes(self) -> None:
        """Go to the causes."""
        self.query_one(CauseList).focus()

    def action_focus_trail(self) -> None:
        """Go to the trail."""
        self.query_one(Trail).focus()

    def action_focus_move(self) -> None:
        """Go back to the question."""
        self.query_one(MovePanel).focus_options()

    def action_export(self) -> None:
        """Write the session as Markdown and JSON."""
        self._export(upstream=False)

    def _export(self, *, upstream: bool) -> None:
        from distkb.tui.screens.export import ExportScreen

        self.app.push_screen(ExportScreen(upstream=upstream))

    def action_step_back(self) -> None:
        """Go one step back: to the question, and from another step to the best one; never out of the session."""
        if not self.query_one(MovePanel).has_focus_within:
            self.action_focus_move()
        elif self._offered:
            self._offer(0)
        else:
            self.notify(say_of(self)("tui.session.leave-with-q"), markup=False)

    def action_leave(self) -> None:
        """Go back to the start; the session is saved."""
        self.app.close_session()
        self.dismiss(None)
