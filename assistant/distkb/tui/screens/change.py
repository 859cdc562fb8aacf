"""Changes or takes back something that was answered, read, probed or tried."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from distkb.diagnosis.moves import Ask
from distkb.diagnosis.questions import Question, fact_question, lines_question
from distkb.diagnosis.session import Answered, DontKnow, Event, Withdrawn
from distkb.tui.dialog import Dialog
from distkb.tui.keys import KeyBar, key
from distkb.tui.language import say_of
from distkb.tui.widgets.listing import refill
from distkb.tui.widgets.move import UNKNOWN, MovePanel

if TYPE_CHECKING:
    from distkb.tui.app import DistkbApp


class ChangeScreen(Dialog[Event | None]):
    """Asks the question of an earlier answer again, or offers to take the event back."""

    app: DistkbApp
    BINDINGS: ClassVar[list[BindingType]] = [key("t", "withdraw", "withdraw"), key("escape", "cancel", "back")]

    def __init__(self, event: Event, number: int | None = None) -> None:
        """Take the event and its place in the session; None for what is no event yet: it can be answered only."""
        super().__init__()
        self._event = event
        self._number = number

    def compose(self) -> ComposeResult:
        """Show the question again where there was one."""
        with Vertical(id="change-box"):
            yield Static(id="change-title")
            if self._question() is not None:
                yield MovePanel(id="change-move")
            yield OptionList(id="change-options")
        yield KeyBar()

    def on_mount(self) -> None:
        """Ask."""
        self.speak()
        question = self._question()
        if question is None:
            self.query_one("#change-options", OptionList).focus()
        else:
            panel = self.query_one(MovePanel)
            panel.show(Ask(question=question, gain_bits=0.0, seconds=question.seconds))
            panel.focus_options()

    def speak(self) -> None:
        """Say what can be done."""
        say = say_of(self)
        self.query_one("#change-title", Static).update(Content(say("tui.change.title")))
        option = Option(Content.assemble(("t ", "bold $accent"), say("tui.change.withdraw")), id="withdraw")
        options = self.query_one("#change-options", OptionList)
        options.display = self._number is not None
        refill(options, [option], highlighted=0)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Offer to take back only what is an event."""
        return action != "withdraw" or self._number is not None

    def _question(self) -> Question | None:
        known = self.app.knowledge
        if known is None or not isinstance(self._event, Answered | DontKnow):
            return None
        fact = known.guide.facts.get(self._event.question)
        if fact is not None:
            return fact_question(fact)
        lines = [known.guide.signatures[name] for name in self._event.offered if name in known.guide.signatures]
        return lines_question(lines) if lines else None

    @on(MovePanel.Decided)
    def _decided(self, message: MovePanel.Decided) -> None:
        question = self._question()
        if question is not None:
            unknown = message.options == (UNKNOWN,)
            self.dismiss(question.unknown() if unknown else question.answer(*message.options))

    @on(OptionList.OptionSelected, "#change-options")
    def _withdraw(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.action_withdraw()

    def action_withdraw(self) -> None:
        """Take the event back."""
        if self._number is not None:
            self.dismiss(Withdrawn(number=self._number))

    def action_cancel(self) -> None:
        """Leave it as it is."""
        self.dismiss(None)
