"""Chooses the folder or file of a run: type a path, or walk to it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text, TextType
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.suggester import Suggester
from textual.widgets import DirectoryTree, Input, Static

from distkb.evidence.text.clean import plain
from distkb.tui.dialog import Dialog
from distkb.tui.keys import KeyBar, key
from distkb.tui.screens.start import existing
from distkb.tui.voice import voice

if TYPE_CHECKING:
    from distkb.tui.app import DistkbApp

_MOST_NAMES = 5000


class PathSuggester(Suggester):
    """Completes a path with the first name that begins like it."""

    def __init__(self) -> None:
        """Ask again every time: files come and go."""
        super().__init__(use_cache=False, case_sensitive=True)

    async def get_suggestion(self, value: str) -> str | None:
        """Return the completed path, or None."""
        if not value:
            return None
        head, slash, start = value.rpartition("/")
        try:
            directory = Path((head + slash) or ".").expanduser()
            names = sorted(
                path.name + ("/" if path.is_dir() else "")
                for path, _ in zip(directory.iterdir(), range(_MOST_NAMES), strict=False)
            )
        except (OSError, ValueError, RuntimeError):
            return None
        fitting = (name for name in names if name.startswith(start) and name != start and name.isprintable())
        return next((f"{head}{slash}{name}" for name in fitting), None)


class FileTree(DirectoryTree):
    """Folders and files; their names are text, whatever is in them."""

    def process_label(self, label: TextType) -> Text:
        """Return a name without anything that a terminal or Rich would interpret."""
        return Text(plain(label if isinstance(label, str) else label.plain) or "?")


class OpenScreen(Dialog[Path | None]):
    """Closes with the chosen path, or None."""

    app: DistkbApp
    BINDINGS: ClassVar[list[BindingType]] = [
        key("ctrl+o", "choose", "read-this"),
        key("ctrl+up", "parent", "parent"),
        key("escape", "cancel", "back"),
    ]

    def compose(self) -> ComposeResult:
        """Lay out the input above the tree."""
        with Vertical(id="open-box"):
            yield Static(id="open-title")
            yield Input(id="open-input", suggester=PathSuggester())
            yield FileTree(Path.cwd(), id="open-tree")
        yield KeyBar()

    def on_mount(self) -> None:
        """Begin at the input."""
        self.speak()
        self.query_one(Input).focus()

    def speak(self) -> None:
        """Say what to do."""
        say = voice(self)
        self.query_one("#open-title", Static).update(Content(say("tui.open.title")))
        self.query_one(Input).placeholder = say("tui.open.placeholder")

    @on(Input.Submitted)
    def _typed(self, event: Input.Submitted) -> None:
        self._choose(event.value.strip())

    def _choose(self, typed: str) -> None:
        path = existing(typed)
        if path is not None:
            self.dismiss(path)
        elif typed:
            text = voice(self)("tui.open.missing", path=plain(typed))
            self.notify(text, severity="error", markup=False)

    @on(DirectoryTree.FileSelected)
    def _file(self, event: DirectoryTree.FileSelected) -> None:
        self.dismiss(event.path)

    @on(DirectoryTree.DirectorySelected)
    def _directory(self, event: DirectoryTree.DirectorySelected) -> None:
        self.query_one(Input).value = f"{event.path}/"

    def action_choose(self) -> None:
        """Read the folder or file under the cursor of the tree, or the path that was typed."""
        tree = self.query_one(DirectoryTree)
        typed = self.query_one(Input).value.strip()
        node = tree.cursor_node
        if tree.has_focus and node is not None and node.data is not None:
            self.dismiss(node.data.path)
        else:
            self._choose(typed)

    def action_parent(self) -> None:
        """Show the folder above."""
        tree = self.query_one(DirectoryTree)
        tree.path = Path(tree.path).absolute().parent

    def action_cancel(self) -> None:
        """Go back without choosing."""
        self.dismiss(None)
