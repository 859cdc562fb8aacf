"""A line of evidence where it stands: the lines of the file around it."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from distkb.evidence.text.clean import quote_text
from distkb.evidence.text.opening import UnreadableError
from distkb.tui.dialog import Dialog
from distkb.tui.keys import KeyBar, key
from distkb.tui.language import say_of, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distkb.evidence.observation import Quote
    from distkb.evidence.text.opening import Readable
    from distkb.tui.app import DistkbApp

BEFORE, AFTER = 12, 24
"""Lines that are shown around the quote."""
_PARTS = ("above", "line", "below")
_WIDTH = 400
_MOST_LINE = 1 << 16
"""Bytes of one line that are looked at."""


def lines_around(path: Path, line: int) -> list[tuple[int, str]]:
    """Return the lines around a 1-based line with their numbers, cleaned and masked; raises OSError.

    Long lines are cut; a packed file is unpacked as far as that line.
    """
    from distkb.evidence.text.opening import open_text

    first = max(1, line - BEFORE)
    raw, stream = open_text(path)
    with raw:
        rows = islice(enumerate(_lines(stream), 1), first - 1, line + AFTER)
        return [(number, quote_text(text, width=_WIDTH)) for number, text in rows]


def _lines(stream: Readable) -> Iterator[str]:
    """Yield a stream's lines as text, each cut to what is looked at."""
    held = b""
    while data := stream.read(1 << 20):
        held += data
        *whole, held = held.split(b"\n")
        for line in whole:
            yield line[:_MOST_LINE].decode("utf-8", "replace")
        held = held[: 1 << 20]
    if held:
        yield held[:_MOST_LINE].decode("utf-8", "replace")


class ContextScreen(Dialog[None]):
    """Shows the quote's file around its line; the line itself is marked."""

    app: DistkbApp
    BINDINGS: ClassVar[list[BindingType]] = [key("escape", "close", "back"), key("y", "copy", "copy-place")]

    class Found(Message):
        """The lines are read."""

        def __init__(self, rows: list[tuple[int, str]]) -> None:
            super().__init__()
            self.rows = rows

    def __init__(self, quote: Quote) -> None:
        """Take the quote to show."""
        super().__init__()
        self._quote = quote

    def compose(self) -> ComposeResult:
        """Lay out the place above the lines."""
        with Vertical(id="context-box"):
            yield Static(id="context-title")
            with VerticalScroll(id="context-lines"):
                yield from (Static(id=f"context-{part}") for part in _PARTS)
        yield KeyBar()

    def on_mount(self) -> None:
        """Read the file in a thread: it may be large, or far away."""
        self.speak()
        self._read()

    def speak(self) -> None:
        """Say where the line stands."""
        place = self._place() or say_of(self)("tui.context.words")
        self.query_one("#context-title", Static).update(shown(place))

    def _place(self) -> str:
        if self._quote.path is None:
            return ""
        return f"{self._quote.path}:{self._quote.line}" if self._quote.line else self._quote.path

    @work(thread=True, group="context")
    def _read(self) -> None:
        rows: list[tuple[int, str]] = []
        if self._quote.path is not None and self._quote.line is not None:
            try:
                rows = lines_around(Path(self._quote.path), self._quote.line)
            except (OSError, ValueError, EOFError, UnreadableError):
                rows = []
        self.post_message(self.Found(rows))

    def on_context_screen_found(self, message: Found) -> None:
        """Show the lines, the quote's own in the middle; the quote alone where the file is gone."""
        parts: dict[str, list[Content]] = {part: [] for part in _PARTS}
        for number, text in message.rows:
            own = number == self._quote.line
            row = Content.assemble(
                ("▶ " if own else "  ", "bold $accent"), (f"{number:>7} ", "dim"), (text, "bold" if own else "")
            )
            parts["line" if own else "below" if parts["line"] else "above"].append(row)
        if not message.rows:
            parts["line"] = [shown(self._quote.text)]
        for part, rows in parts.items():
            widget = self.query_one(f"#context-{part}", Static)
            widget.update(Content("\n").join(rows))
            widget.display = bool(rows)
        line = self.query_one("#context-line", Static)
        self.call_after_refresh(lambda: self.query_one("#context-lines").scroll_to_center(line, animate=False))

    def action_copy(self) -> None:
        """Copy the place, for an editor."""
        self.app.copy(self._place() or self._quote.text)

    def action_close(self) -> None:
        """Go back."""
        self.dismiss(None)
