"""The sizing advisor: a model and a cluster on top, what every way of sharding needs below, as it is typed."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.suggester import SuggestFromList
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from distkb.evidence.text.clean import plain
from distkb.report import sizing as report
from distkb.report.layout import pad, right, width
from distkb.report.sharding import size
from distkb.sizing.advise import Advice, advise, choose
from distkb.sizing.form import CHOICES, Form, FormError, read
from distkb.sizing.launch import command
from distkb.sizing.presets import PRESETS
from distkb.tui.keys import KeyBar, key
from distkb.tui.language import say_of
from distkb.tui.widgets.choice import Choice
from distkb.tui.widgets.listing import refill
from distkb.tui.widgets.prompt import Field

if TYPE_CHECKING:
    from distkb.locale import Say
    from distkb.sizing.strategies import Strategy
    from distkb.tui.app import DistkbApp

FORM_COLUMNS = (
    ("model", "gpus", "memory", "per_node"),
    ("seq", "batch", "lora", "host"),
    ("optimizer", "precision", "checkpointing"),
)
"""The fields from left to right and from top to bottom, in the order of Tab."""

FIELDS = tuple(field for column in FORM_COLUMNS for field in column)
_PREFIX = "advise-"
_SIGNS = {"plain": ("✓", "$text-success"), "checkpointing": ("✓", "$text-warning"), "no": ("✗", "$text-error")}


class AdviseScreen(Screen[None]):
    """Works out what fits while it is typed; what cannot be read is said in one line and leaves the last answer."""

    app: DistkbApp
    BINDINGS: ClassVar[list[BindingType]] = [
        key("f8", "launch", "launch"),
        key("ctrl+y", "copy", "copy-command"),
        key("down", "to_list", "to-list", show=False),
        key("escape", "back", "back"),
        # before what is typed next: it belongs to the next field
        Binding("tab", "app.focus_next", show=False, priority=True),
        Binding("shift+tab", "app.focus_previous", show=False, priority=True),
    ]

    class WorkedOut(Message):
        """The answer to a form is there, or why there is none."""

        def __init__(self, form: Form, config: Path | None, answer: Advice | FormError) -> None:
            super().__init__()
            self.form = form
            self.config = config
            self.answer = answer

    def __init__(self) -> None:
        super().__init__()
        self.advice: Advice | None = None
        """The last answer."""
        self._problem: FormError | None = None
        self._asked: Form | None = None
        """The form that is being worked out; one at a time, and then the latest."""
        self._answered: tuple[Form, Path | None] | None = None
        """The form of the last answer, and the file that was its model."""

    def compose(self) -> ComposeResult:
        """Lay out the form above the table, and what there is to know about a row below."""
        yield Static(id="advise-title")
        with Horizontal(id="advise-form"):
            for column in FORM_COLUMNS:
                with Vertical(classes="advise-column"):
                    for field in column:
                        with Horizontal(classes="advise-field"):
                            yield Static(id=f"{_PREFIX}label-{field}", classes="advise-label")
                            yield _input(field)
        yield Static(id="advise-line")
        yield Static(id="advise-verdict")
        yield Static(id="advise-heads")
        yield OptionList(id="advise-rows")
        with VerticalScroll(id="advise-more"):
            yield Static(id="advise-detail")
        yield KeyBar()

    def on_mount(self) -> None:
        """Begin with the model, and with the answer for what stands there at first."""
        self.speak()
        self.query_one(f"#{_PREFIX}model").focus()
        self._ask()

    def speak(self) -> None:
        """Say everything in the language of the app; what was typed stays."""
        say = say_of(self)
        self.query_one("#advise-title", Static).update(Content.styled(say("tui.advise.title"), "bold"))
        for field in FIELDS:
            self.query_one(f"#{_PREFIX}label-{field}", Static).update(Content(say(f"advise.field.{field}")))
        for field in ("per_node", "host", "lora"):
            self.query_one(f"#{_PREFIX}{field}", Input).placeholder = say(f"tui.advise.empty.{field}")
        self._say_line()
        self._show()

    # What is asked

    @property
    def busy(self) -> bool:
        """Whether something that was typed is not answered yet."""
        return self._asked is not None

    def form(self) -> Form:
        """Return what stands in the fields."""
        values = {}
        for field in FIELDS:
            widget = self.query_one(f"#{_PREFIX}{field}")
            values[field] = widget.value if isinstance(widget, Input | Choice) else ""
        return Form(**values)

    @on(Input.Changed)
    @on(Choice.Changed)
    def _typed(self) -> None:
        self._ask()

    def _ask(self) -> None:
        """Work the form out, unless another one is being worked out: its answer asks again."""
        if self._asked is None and self.is_mounted:
            self._asked = self.form()
            self._work_out(self._asked)

    @work(thread=True, group="advise")
    def _work_out(self, form: Form) -> None:
        path = _config(form.model)
        answer: Advice | FormError
        try:
            answer = advise(*read(form, _loaded(path)))
        except FormError as problem:
            answer = problem
        self.post_message(self.WorkedOut(form, path, answer))

    def on_advise_screen_worked_out(self, message: WorkedOut) -> None:
        """Show the answer, or why there is none; ask again where more was typed in the meantime."""
        self._asked = None
        if message.form != self.form():
            self._ask()
            return
        if isinstance(message.answer, FormError):
            self._problem = message.answer
        else:
            self._problem, self.advice = None, message.answer
            self._answered = (message.form, message.config)
        self._say_line()
        self._show()

    # What is shown

    def on_descendant_focus(self) -> None:
        """Explain the field that has the focus now."""
        self._say_line()

    def _say_line(self) -> None:
        """Say what is wrong with a field, else what the focused one is for."""
        say, problem = say_of(self), self._problem
        line = self.query_one("#advise-line", Static)
        line.set_class(problem is not None, "problem")
        if problem is not None:
            values = {name: plain(str(value)) for name, value in problem.values.items()}
            line.update(Content(f"✗ {say(f'advise.field.{problem.field}')}: {say(problem.sentence, **values)}"))
            return
        focused = self.focused
        field = (focused.id or "").removeprefix(_PREFIX) if focused is not None else ""
        line.update(Content(say(f"tui.advise.about.{field}") if field in (*FIELDS, "rows", "more") else ""))

    def _show(self) -> None:
        """Show the last answer; dimmed where the fields say something else by now."""
        advice, say = self.advice, say_of(self)
        for name in ("verdict", "heads", "rows", "more"):
            self.query_one(f"#{_PREFIX}{name}").set_class(self._problem is not None, "stale")
        if advice is None:
            return
        sign = "✗" if advice.chosen is None else "✓"
        self.query_one("#advise-verdict", Static).update(Content(f"{sign} {report.verdict(advice, say)}"))
        rows = report.shown(advice)
        widths = _widths(say)
        heads = [say(f"tui.advise.head.{name}") for name in report.COLUMNS]
        cells = "".join(right(head, room) for head, room in zip(heads, widths, strict=True))
        self.query_one("#advise-heads", Static).update(Content(f"  {pad('', _name_width())}{cells}"))
        at = next((place for place, row in enumerate(rows) if row is advice.chosen), 0)
        listing = self.query_one("#advise-rows", OptionList)
        if listing.option_count != len(rows) or not listing.has_focus:
            listing.clear_options()
        refill(listing, (Option(_row(row, advice, say, widths), id=row.name) for row in rows), highlighted=at)
        self._detail()

    @on(OptionList.OptionHighlighted, "#advise-rows")
    def _detail(self) -> None:
        """Say what there is to know about the highlighted row, and about the answer as a whole."""
        advice, say = self._about_row(), say_of(self)
        if advice is None or advice.chosen is None:
            return
        parts = [Content.styled(f"$ {command(advice)}", "bold $accent"), _held(advice.chosen, say), Content("")]
        answer = self.advice or advice
        parts += [Content(line) for line in report.assumed(answer, say, form=True)]
        about = answer if answer.chosen is None else advice
        parts += [Content(f"- {note}") for note in report.notes(about, say, form=True)]
        self.query_one("#advise-detail", Static).update(Content("\n").join(parts))

    def _about_row(self) -> Advice | None:
        """Return the answer with the highlighted strategy as the one to start from."""
        listing = self.query_one("#advise-rows", OptionList)
        if self.advice is None or listing.highlighted is None:
            return None
        name = listing.get_option_at_index(listing.highlighted).id or ""
        with suppress(KeyError):
            return choose(self.advice, name)
        return None

    # Ways on

    @on(OptionList.OptionSelected, "#advise-rows")
    def action_launch(self) -> None:
        """Show the command and the files to start the highlighted strategy with."""
        from distkb.tui.screens.launch import LaunchScreen

        advice = self._about_row()
        if advice is not None and self._answered is not None:
            form, config = self._answered
            self.app.push_screen(LaunchScreen(advice, form, config))

    def action_copy(self) -> None:
        """Copy the command that starts the highlighted strategy."""
        advice = self._about_row()
        if advice is not None:
            self.app.copy(command(advice))

    def action_to_list(self) -> None:
        """Go from the fields to the strategies."""
        self.query_one("#advise-rows", OptionList).focus()

    def action_back(self) -> None:
        """Go back."""
        self.dismiss(None)


def _input(field: str) -> Input | Choice:
    """Return the widget of a field, with what stands there at first."""
    name, value = f"{_PREFIX}{field}", getattr(Form(), field)
    if field in CHOICES:
        return Choice(CHOICES[field], value, id=name, sentences="advise.choice." if field == "checkpointing" else "")
    suggester = SuggestFromList(PRESETS, case_sensitive=False) if field == "model" else None
    return Field(value, id=name, compact=True, suggester=suggester, select_on_focus=False)


def _config(model: str) -> Path | None:
    """Return the path that was typed for the model; None for a number or a name."""
    words = model.strip()
    if "/" not in words and not words.endswith(".json"):
        return None
    with suppress(RuntimeError):  # no such home directory
        return Path(words).expanduser()
    return Path(words)


def _loaded(path: Path | None) -> dict[str, Any] | None:
    """Return the document at a path. Raises FormError where there is none."""
    from distkb.sizing.config_file import load
    from distkb.sizing.shape import ShapeError

    if path is None:
        return None
    try:
        return load(path)
    except ShapeError as problem:
        raise FormError("model", problem.sentence, **problem.values) from None
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise FormError("model", "advise.error.config", path=str(path), reason=reason) from None


def _name_width() -> int:
    return max(width(report.NAMES[name]) for name in ("fsdp2_no_reshard", "zero2_offload"))


def _widths(say: Say) -> list[int]:
    """Return the columns of each figure: as wide as its heading, and as the figures of the largest models."""
    return [max(6, width(say(f"tui.advise.head.{name}"))) + 1 for name in report.COLUMNS]


def _row(row: Strategy, advice: Advice, say: Say, widths: list[int]) -> Content:
    """Return a strategy as a row: its figures, and a sign and a word that say whether it fits."""
    run, chosen = advice.run, advice.chosen is not None and row.name == advice.chosen.name
    figures = [text.partition(" ")[0] for text in report.figures(row, run)]
    cells = "".join(right(text, room) for text, room in zip(figures, widths, strict=True))
    fit = report.fit(row, run)
    sign, style = _SIGNS[fit]
    name = pad(report.NAMES[row.name], _name_width())
    return Content.assemble(
        ("▸ " if chosen else "  ", "bold $accent"),
        (name, "bold" if chosen else ""),
        cells,
        "  ",
        (f"{sign} {say(f'advise.fit.{fit}')}", style),
    )


def _held(row: Strategy, say: Say) -> Content:
    """Return what one GPU holds of the states, and what the strategy sends."""
    text = say(
        "tui.advise.held.nodes" if row.leaves_node else "tui.advise.held",
        name=report.NAMES[row.name],
        parameters=size(row.params),
        gradients=size(row.grads),
        optimizer=size(row.optimizer),
        sent=size(row.sent),
        leaves=size(row.leaves_node),
    )
    return Content(text)
