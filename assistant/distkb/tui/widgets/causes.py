"""The causes with their probabilities, and what the last answer changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from distkb.report.layout import wrap
from distkb.report.measure import percent
from distkb.tui.keys import key
from distkb.tui.language import fit, say_of
from distkb.tui.widgets.listing import refill, room

if TYPE_CHECKING:
    from distkb.diagnosis.view import RankedView, SessionView
    from distkb.tui.knowledge import ScreenKnowledge

_EIGHTHS = " ▏▎▍▌▋▊▉"
LEAST_SHOWN = 0.005
MOST_SHOWN = 12
TALL = 20
"""Rows from which a long title stands whole below its bar instead of being cut beside it."""
_INDENT = " " * 5
_NOTICEABLE = 0.005
"""Change of a probability from which it is marked."""


def bar(share: float, columns: int) -> str:
    """Return a bar of `columns` cells filled to `share` (0 to 1), in eighths of a cell."""
    eighths = round(max(0.0, min(1.0, share)) * columns * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(columns)


def change(delta: float) -> str:
    """Return what the last answer changed, in points of a hundred: an arrow and a number, never colour alone."""
    if abs(delta) < _NOTICEABLE:
        return ""
    return f"{'▲' if delta > 0 else '▼'}{abs(delta) * 100:.0f}"


class CauseList(OptionList):
    """Entries, the most probable first. Enter says why one ranks there."""

    BINDINGS: ClassVar[list[BindingType]] = [key("enter", "select", "why-here")]

    class Chosen(Message):
        """An entry was chosen."""

        def __init__(self, entry: str) -> None:
            super().__init__()
            self.entry = entry

    def __init__(self, knowledge: ScreenKnowledge, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        """Show nothing until `show`."""
        super().__init__(id=id)
        self._knowledge = knowledge
        self._view: SessionView | None = None

    @property
    def chosen(self) -> str | None:
        """The entry under the cursor."""
        if self.highlighted is None:
            return None
        name = self.get_option_at_index(self.highlighted).id
        return None if name == "other" else name

    def show(self, view: SessionView) -> None:
        """Show the causes of a view."""
        self._view = view
        self.speak()

    def speak(self) -> None:
        """Write every row in the language of the app."""
        if self._view is None:
            return
        rows = [r for r in self._view.entries if r.probability >= LEAST_SHOWN][:MOST_SHOWN]
        options = [Option(self._row(row), id=row.id) for row in rows]
        other = self._row(self._view.other, say_of(self)("tui.causes.other"))
        refill(self, [*options, Option(other, id="other", disabled=True)], highlighted=0 if rows else None)

    def on_resize(self) -> None:
        """Use the new width."""
        self.speak()

    def _row(self, row: RankedView, title: str | None = None) -> Content:
        columns = 10 if room(self) < 90 else 20
        name = "" if title is not None else row.id
        title = say_of(self).text(self._knowledge.entries[row.id].title) if title is None else title
        style = "$success" if row.delta >= _NOTICEABLE else "$error" if row.delta <= -_NOTICEABLE else ""
        head = Content.assemble(
            (f"{name:<5}", "bold"),
            (bar(row.probability, columns), "$accent"),
            f" {percent(row.probability):>4} ",
            (f"{change(row.delta):<4}", style),
        )
        left = room(self) - head.cell_length - 1
        if cell_len(title) <= left or self.size.height < TALL:
            return Content.assemble(head, " ", fit(title, left))
        lines = wrap(title, room(self), _INDENT, _INDENT)
        return Content("\n").join([head, *(Content(line) for line in lines)])

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Tell which entry was chosen."""
        event.stop()
        if event.option.id and event.option.id != "other":
            self.post_message(self.Chosen(event.option.id))
