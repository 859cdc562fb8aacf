"""The next move: a question with its answers, something to run or collect, a fix to try, or the end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

import msgspec
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from distkb.diagnosis.moves import Ask, Done, Move, Take, TryFix
from distkb.evidence.text.clean import plain
from distkb.probing.registry import PROBES
from distkb.report.measure import percent
from distkb.tui.keys import key
from distkb.tui.language import prose, say_of
from distkb.tui.widgets.listing import refill

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distkb.catalogue.model import Step, Text
    from distkb.locale import Say
    from distkb.tui.app import DistkbApp
    from distkb.watching.look import LocalJob


class Look(msgspec.Struct, frozen=True):
    """Look at a job that runs here: offered before any question."""

    job: LocalJob


UNKNOWN = "=unknown"
"""No value of a fact begins with `=`, so that the panel's own answers are never taken for one."""
NONE = "=none"
"""None of the offered lines was printed."""
CONFIRM = "=confirm"
"""What was ticked holds, and nothing else: for the mouse; the keyboard has Enter."""
_MINUTE = 60.0
SILENT_S = 30.0
"""A job whose logs have not grown for so long is silent."""
LETTERS = "ABCDEFGHIJ"
"""Keys of the tenth answer and those behind it."""
_KEYS = {UNKNOWN: "d", NONE: "0", CONFIRM: "↵"}


def duration(seconds: float, say: Say) -> str:
    """Return a rough time for people."""
    if seconds < _MINUTE:
        return say("tui.seconds", n=f"{seconds:.0f}")
    return say("tui.minutes", n=f"{seconds / _MINUTE:.0f}")


class Answers(OptionList):
    """The answers. It knows whether the last choice was a click: where several may hold, a click ticks."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("space", "tick", show=False)]
    clicked = False

    class Ticked(Message):
        """The highlighted answer is to be ticked, or not to be any more."""

    def on_mouse_down(self) -> None:
        """Remember that the mouse chooses."""
        self.clicked = True

    def on_key(self) -> None:
        """Remember that the keyboard chooses."""
        self.clicked = False

    def action_tick(self) -> None:
        """Tick the highlighted answer."""
        self.post_message(self.Ticked())


class MovePanel(Vertical):
    """Shows one move and turns keys into what was decided about it."""

    app: DistkbApp
    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(str(n), f"choose({n})", show=False) for n in range(10)),
        *(Binding(letter, f"choose({n})", show=False) for n, letter in enumerate(LETTERS, 10)),
        key("d", "unknown", "unknown"),
        key("w", "why", "why"),
    ]

    class Decided(Message):
        """Something was chosen: answers (nothing where none holds), `unknown`, or what the move offers (`run`, ...)."""

        def __init__(self, move: Move | Look, options: tuple[str, ...]) -> None:
            super().__init__()
            self.move = move
            self.options = options

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        """Show nothing until `show`."""
        super().__init__(id=id)
        self._move: Move | Look | None = None
        self._why = False
        self._chosen: set[str] = set()

    def compose(self) -> ComposeResult:
        """Lay out the question above its answers."""
        yield Static(id="move-kind")
        yield Static(id="move-text")
        yield Static(id="move-detail")
        yield Static(id="move-why")
        yield Answers(id="move-options")

    def show(self, move: Move | Look) -> None:
        """Show a move; what was ticked for the one before is forgotten."""
        self._move = move
        self._chosen = set()
        self._why = False
        self.query_one(Answers).highlighted = None
        self.speak()

    def wait(self) -> None:
        """Take no more decisions until the next move is shown."""
        self._move = None

    @property
    def move(self) -> Move | Look | None:
        """Return the move that is shown; None while the next one is computed."""
        return self._move

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Offer `don't know` only for questions, and the reason only where there is one."""
        if action == "unknown":
            return isinstance(self._move, Ask)
        if action == "why":
            return isinstance(self._move, Ask | Take | TryFix)
        return True

    def speak(self) -> None:
        """Say the move in the language of the app."""
        if self._move is None:
            return
        say = say_of(self)
        self.query_one("#move-kind", Static).update(Content(self._kind(say)))
        self.query_one("#move-text", Static).update(prose(self._text(say)))
        detail = self.query_one("#move-detail", Static)
        rows = self._detail(say)
        detail.update(Content("\n").join(Content(row) for row in rows))
        detail.display = bool(rows)
        refill(self.query_one(Answers), self._rows(say), highlighted=0)
        why = self.query_one("#move-why", Static)
        why.update(prose(self._reason(say)))
        why.display = self._why
        self.refresh_bindings()

    def _rows(self, say: Say) -> Iterator[Option]:
        for number, (name, label) in enumerate(self._options(say), 1):
            place = _KEYS.get(name) or (str(number) if number < 10 else LETTERS[number - 10 : number - 9] or " ")
            mark = self._mark(name)
            yield Option(Content.assemble((f"{place} ", "bold $accent"), mark, prose(label)), id=name)

    def _mark(self, name: str) -> str:
        if not self._is_multi() or name in _KEYS or name in self._alone():
            return ""
        return "[x] " if name in self._chosen else "[ ] "

    def _kind(self, say: Say) -> str:
        match self._move:
            case Ask(question=question, seconds=seconds):
                kind = "tui.move.ask-multi" if question.multi else "tui.move.ask"
                return say(kind, time=duration(seconds, say))
            case Take(step=step, seconds=seconds):
                return say(f"tui.move.{step.kind}", time=duration(seconds, say))
            case TryFix(chance=chance, seconds=seconds):
                return say("tui.move.fix", chance=percent(chance), time=duration(seconds, say))
            case Done():
                return say("tui.move.done")
            case Look():
                return say("tui.move.look")
        return say("tui.move.nothing-fits")

    def _text(self, say: Say) -> str:
        match self._move:
            case Ask(question=question):
                return say.text(question.text)
            case Take(step=step):
                return say.text(step.text)
            case TryFix(entry=entry, cause=cause, fix=fix) | Done(entry=entry, cause=cause, fix=fix):
                here = self.app.current.remedy(cause, say) if self.app.current is not None else ""
                return f"{entry.id}  {here or say.text(fix.title)}"
            case Look(job=job):
                return offer(job, say)
        return say("tui.move.nothing-fits.text")

    def _detail(self, say: Say) -> list[str]:
        """Return what stands between the text and the answers: commands to run, or the cause that a fix is for."""
        match self._move:
            case Take(step=step):
                return [f"$ {command}" for command in step.commands[:4]]
            case TryFix(cause=cause) | Done(cause=cause):
                return [say("tui.move.for-cause", cause=say.text(cause.title))]
        return []

    def _options(self, say: Say) -> list[tuple[str, str]]:
        names: tuple[str, ...]
        match self._move:
            case Ask(question=question):
                rows = [(option.value, _labelled(option.label, option.example, say)) for option in question.options]
                if question.kind == "lines":
                    rows.append((NONE, say("tui.move.none")))
                rows.append((UNKNOWN, say("tui.move.unknown")))
                return [*rows, (CONFIRM, say("tui.move.confirm"))] if self._chosen else rows
            case Take(step=step) if runnable(step) is not None:
                names = ("run", "decline")
            case Take(step=step):
                names = ("commands", "add", "decline") if step.commands else ("add", "decline")
            case TryFix():
                names = ("open", "later")
            case Done():
                names = ("read", "export")
            case Look():
                names = ("look", "not-now")
            case _:
                names = ("report", "add", "export")
        return [(name, say(f"tui.move.option.{name}")) for name in names]

    def _reason(self, say: Say) -> str:
        match self._move:
            case Ask(question=question):
                return say.text(question.why)
            case Take():
                return say("tui.move.why-step")
            case TryFix(chance=chance):
                return say("tui.move.why-fix", chance=percent(chance))
        return ""

    # Keys

    def action_choose(self, number: int) -> None:
        """Choose the answer with this number; 0 says that none of the lines was printed."""
        answers = self.query_one(Answers)
        names = [option.id or "" for option in answers.options]
        if not answers.size.height:
            self.focus_options()  # nobody answers what is folded away
        elif number == 0:
            if NONE in names:
                self._decide(())
        elif number <= len(names) and names[number - 1] not in _KEYS:
            self._choose(names[number - 1])

    def action_unknown(self) -> None:
        """Say that it is not known."""
        if isinstance(self._move, Ask):
            self._decide((UNKNOWN,))

    def action_why(self) -> None:
        """Show or hide why this is asked."""
        self._why = not self._why
        self.speak()

    @on(OptionList.OptionSelected, "#move-options")
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        answers, name = self.query_one(Answers), event.option.id or ""
        if name == UNKNOWN:
            self._decide((UNKNOWN,))
        elif name == NONE:
            self._decide(())
        elif not self._is_multi() or name in self._alone():
            self._decide((name,))
        elif answers.clicked and name != CONFIRM:
            self._tick(name)
        else:
            self._decide(tuple(sorted(self._chosen)) or (name,))

    @on(Answers.Ticked)
    def _ticked(self) -> None:
        answers = self.query_one(Answers)
        at = answers.highlighted
        name = "" if at is None else answers.get_option_at_index(at).id or ""
        if name and name not in _KEYS and self._is_multi():
            self._choose(name)

    def _is_multi(self) -> bool:
        return isinstance(self._move, Ask) and self._move.question.multi

    def _alone(self) -> frozenset[str]:
        """Return the answers that exclude every other one."""
        options = self._move.question.options if isinstance(self._move, Ask) else ()
        return frozenset(option.value for option in options if option.alone)

    def _choose(self, name: str) -> None:
        """Take an answer; where several may hold, tick it, but for one that excludes the others."""
        if self._is_multi() and name not in self._alone():
            self._tick(name)
        else:
            self._decide((name,))

    def _tick(self, name: str) -> None:
        self._chosen ^= {name}
        self.speak()

    def _decide(self, names: tuple[str, ...]) -> None:
        if self._move is not None:
            self.post_message(self.Decided(self._move, names))

    def focus_options(self) -> None:
        """Give the answers the focus."""
        self.query_one(Answers).focus()


def offer(job: LocalJob, say: Say, beside: Sequence[LocalJob] = (), *, asked: bool = True) -> str:
    """Return which ranks run here and for how long they have been silent, with the offer to look at them.

    Of jobs of one name that are offered `beside` one another, the first process tells which it is.
    """
    name, n = plain(job.name), len(job.pids)
    if sum(other.name == job.name for other in beside) > 1:
        name += f" (pid {job.pids[0]})"
    silent = job.silent_s
    if silent is None or silent < SILENT_S:
        told = say.count("tui.live.runs", n, name=name)
    else:
        told = say.count("tui.live.silent", n, name=name, time=duration(silent, say))
    return f"{told} {say.count('tui.live.ask', n)}" if asked else told


def runnable(step: Step) -> str | None:
    """Return the name of the probe that a step runs, where the screen can run it."""
    name = step.id.partition(".")[2]
    probe = PROBES.get(name)
    return name if probe is not None and probe.way == "run" and probe.step == step.id else None


def _labelled(label: Text, example: str | None, say: Say) -> str:
    text = say.text(label)
    return text if example is None else f"{text}  | {example}"
