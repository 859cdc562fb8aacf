"""One fix: what to do, what to copy, what changes, how to see that it worked, and whether it did."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from distkb.diagnosis.session import FixTried, Outcome
from distkb.tui.keys import KeyBar, key
from distkb.tui.language import prose, say_of
from distkb.tui.widgets.code import CodeDiff, coloured
from distkb.tui.widgets.listing import refill

if TYPE_CHECKING:
    from distkb.catalogue.model import Cause, Entry, Fix
    from distkb.tui.app import DistkbApp

_OUTCOMES: tuple[tuple[str, Outcome], ...] = (("y", "helped"), ("n", "did-not-help"), ("t", "could-not-try"))


class FixScreen(Screen[None]):
    """Shows one fix. In a session it asks whether it helped, and the session goes on with the answer."""

    app: DistkbApp
    BINDINGS: ClassVar[list[BindingType]] = [
        key("y", "outcome('helped')", "helped"),
        key("n", "outcome('did-not-help')", "did-not-help"),
        key("t", "outcome('could-not-try')", "could-not-try"),
        key("c", "copy", "copy-commands"),
        key("g", "next_fix", "next-fix"),
        key("o", "read_entry", "read-entry"),
        key("escape", "back", "back"),
    ]

    def __init__(self, identity: str) -> None:
        """Take the fix's id."""
        super().__init__()
        self._identity = identity
        self._found: tuple[Entry, Cause, Fix] | None = None

    def compose(self) -> ComposeResult:
        """Lay out everything the fix has; what it lacks takes no room."""
        known = self.app.knowledge
        self._found = known.guide.fixes.get(self._identity) if known is not None else None
        if self._found is None:
            return
        fix = self._found[2]
        yield Static(id="fix-title")
        with VerticalScroll(id="fix-body"):
            yield Static(id="fix-cause")
            yield Static(id="fix-here")
            yield Static(id="fix-warning", classes="warning")
            yield Static(id="fix-steps")
            if fix.commands:
                yield Static(id="fix-commands-title", classes="heading")
                yield Static(coloured("\n".join(fix.commands), "bash"), id="fix-commands", classes="block")
            if fix.code is not None:
                yield Static(id="fix-code-title", classes="heading")
                yield CodeDiff(fix.code)
            yield Static(id="fix-verify-title", classes="heading")
            yield Static(id="fix-verify")
        with Vertical(id="fix-outcome"):
            yield Static(id="fix-ask")
            yield OptionList(id="fix-outcomes")
        yield KeyBar()

    def on_mount(self) -> None:
        """Show the fix, from its top."""
        self.speak()
        self.query_one("#fix-outcome").display = self.app.current is not None
        self.query_one("#fix-body").focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Ask for the outcome only where a session could use it."""
        if action == "outcome":
            return self.app.current is not None
        if action == "copy":
            return self._found is not None and bool(self._copied())
        if action == "next_fix":
            return self._found is not None and len(self._found[1].fixes) > 1
        return True

    def speak(self) -> None:
        """Say everything in the language of the app."""
        if self._found is None:
            return
        say = say_of(self)
        entry, cause, fix = self._found
        self._put("#fix-title", Content.assemble((f"{fix.id}  ", "bold $accent"), (say.text(fix.title), "bold")))
        self._put("#fix-cause", Content.assemble((f"{entry.id}  ", "bold"), say.text(cause.title)))
        here = self.app.current.remedy(cause, say) if self.app.current is not None else ""
        self._put("#fix-here", prose(here))
        self.query_one("#fix-here").display = bool(here)
        warnings = []
        if fix.workaround:
            warnings.append(say("tui.fix.workaround"))
        if fix.changes_results is not None:
            warnings.append(say("tui.fix.changes-results", what=say.text(fix.changes_results)))
        self._put("#fix-warning", Content("\n").join(prose(f"! {text}") for text in warnings))
        self.query_one("#fix-warning").display = bool(warnings)
        steps = [prose(f"{number}. {say.text(step)}") for number, step in enumerate(fix.steps, 1)]
        cost = say("tui.fix.cost", cost=say(f"cost.{fix.cost}"), risk=say(f"risk.{fix.risk}"))
        self._put("#fix-steps", Content("\n").join([*steps, Content.styled(cost, "dim")]))
        if fix.commands:
            self._put("#fix-commands-title", Content(say("tui.fix.commands")))
        if fix.code is not None:
            self._put("#fix-code-title", Content(say("tui.fix.code")))
        self._put("#fix-verify-title", Content(say("tui.fix.verify")))
        self._put("#fix-verify", prose(say.text(fix.verify)))
        self._put("#fix-ask", Content(say("tui.fix.did-it-help")))
        options = (
            Option(Content.assemble((f"{name} ", "bold $accent"), say(f"tui.fix.{outcome}")), id=outcome)
            for name, outcome in _OUTCOMES
        )
        refill(self.query_one("#fix-outcomes", OptionList), options, highlighted=0)

    def _put(self, selector: str, content: Content) -> None:
        self.query_one(selector, Static).update(content)

    @on(OptionList.OptionSelected, "#fix-outcomes")
    def _selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.action_outcome(event.option.id or "")

    def action_outcome(self, outcome: str) -> None:
        """Tell the session whether it helped, and go back to it."""
        chosen = next((known for _, known in _OUTCOMES if known == outcome), None)
        if chosen is not None and self.app.current is not None:
            self.app.back_to_session()
            self.app.apply(FixTried(fix=self._identity, outcome=chosen))

    def _copied(self) -> str:
        if self._found is None:
            return ""
        fix = self._found[2]
        return "\n".join(fix.commands) or ("" if fix.code is None else fix.code.after)

    def action_copy(self) -> None:
        """Copy the commands, or the repaired code where there are none."""
        self.app.copy(self._copied())

    def action_next_fix(self) -> None:
        """Show the next fix of the same cause; after the last one the first."""
        if self._found is None:
            return
        fixes = self._found[1].fixes
        at = next(number for number, fix in enumerate(fixes) if fix.id == self._identity)
        if len(fixes) > 1:
            self.app.switch_screen(FixScreen(fixes[(at + 1) % len(fixes)].id))

    def action_read_entry(self) -> None:
        """Read the whole entry."""
        if self._found is not None:
            self.app.show_entry(self._found[0].id)

    def action_back(self) -> None:
        """Go back."""
        self.dismiss(None)
