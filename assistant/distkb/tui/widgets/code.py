"""Code with syntax colours, and the faulty code beside its repair."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.highlight import highlight
from textual.widgets import Static

from distkb.catalogue.model import CodeChange
from distkb.report.page import unified
from distkb.tui.language import say_of

SIDE_BY_SIDE = 116
"""Columns from which both sides stand beside one another."""
_KNOWN = frozenset({"python", "bash", "json", "yaml", "toml", "ini", "diff", "text"})


def coloured(code: str, language: str) -> Content:
    """Return code with syntax colours; as it is where the language is not known."""
    code = code.rstrip("\n")
    return highlight(code, language=language) if language in _KNOWN - {"text"} else Content(code)


class CodeDiff(Vertical):
    """The change as one text, with signs before the lines that go and come."""

    def __init__(self, change: CodeChange) -> None:
        """Take the change to show."""
        super().__init__(classes="code-diff")
        self._change = change

    def compose(self) -> ComposeResult:
        """Show both sides beside one another where there is room, else one below the other."""
        yield Static(self._lines(), classes="code-unified")
        with Horizontal(classes="code-sides"):
            with Vertical():
                yield Static(classes="code-before-title")
                yield Static(coloured(self._change.before, self._change.language), classes="code-before")
            with Vertical():
                yield Static(classes="code-after-title")
                yield Static(coloured(self._change.after, self._change.language), classes="code-after")

    def on_mount(self) -> None:
        """Say which side is which."""
        self.speak()
        self._choose()

    def speak(self) -> None:
        """Say which side is which."""
        say = say_of(self)
        self.query_one(".code-before-title", Static).update(Content(say("tui.code.before")))
        self.query_one(".code-after-title", Static).update(Content(say("tui.code.after")))

    def on_resize(self) -> None:
        """Choose the form that fits."""
        self._choose()

    def _choose(self) -> None:
        wide = self.app.size.width >= SIDE_BY_SIDE
        self.query_one(".code-sides").display = wide
        self.query_one(".code-unified").display = not wide

    def _lines(self) -> Content:
        styles = {"+": "$success", "-": "$error"}
        rows: list[Content] = []
        for line in unified(self._change):
            sign, code = line[:1] or " ", line[1:]
            body = coloured(code, self._change.language) if code.strip() else Content(code)
            rows.append(Content.assemble((f"{sign} ", f"bold {styles.get(sign, '')}".strip()), body))
        return Content("\n").join(rows)
