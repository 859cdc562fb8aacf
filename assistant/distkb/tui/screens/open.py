"""Chooses the folder or file of a run: type a path, or walk to it."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text, TextType
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.suggester import Suggester
from textual.widgets import DirectoryTree, Input, Static

from distkb.evidence.text.clean import plain
from distkb.tui.dialog import Dialog
from distkb.tui.keys import KeyBar, key
from distkb.tui.language import fit, say_of
from distkb.tui.screens.start import existing
from distkb.tui.widgets.prompt import WordsInput

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
        names = _names((head + slash) or ".")
        fitting = (name for name in names if name.startswith(start) and name != start)
        return next((f"{head}{slash}{name}" for name in fitting), None)


def completions(typed: str) -> tuple[str, list[str]]:
    """Return the path as far as all that begins like it agrees, and the names among which it is still open."""
    head, slash, start = typed.rpartition("/")
    names = [name for name in _names((head + slash) or ".") if name.startswith(start)]
    agreed = takewhile(lambda chars: len(set(chars)) == 1, zip(*names, strict=False))
    return (f"{head}{slash}{''.join(chars[0] for chars in agreed)}" if names else typed), names


def _names(folder: str) -> list[str]:
    """Return the names in a folder in order, folders with a slash behind them; none where it cannot be listed."""
    try:
        paths = zip(Path(folder).expanduser().iterdir(), range(_MOST_NAMES), strict=False)
        names = sorted(path.name + ("/" if path.is_dir() else "") for path, _ in paths)
    except (OSError, ValueError, RuntimeError):
        return []
    return [name for name in names if name.isprintable()]


class PathInput(WordsInput):
    """A path; Tab completes it as a shell does."""

    BINDINGS: ClassVar[list[BindingType]] = [key("tab", "complete", "complete")]

    class Completed(Message):
        """Tab was pressed: among these names it is still open."""

        def __init__(self, names: list[str]) -> None:
            super().__init__()
            self.names = names

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's name
        """Suggest names while typing, too."""
        super().__init__(id=id, suggester=PathSuggester())

    def action_complete(self) -> None:
        """Complete the path as far as it is clear; where nothing begins like it, go on to the next part."""
        completed, names = completions(self.value)
        if not names:
            self.screen.focus_next()
            return
        self.value = completed
        self.cursor_position = len(completed)
        self.post_message(self.Completed(names if len(names) > 1 else []))


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
        key("down", "to_list", "to-list", show=False),
        key("escape", "cancel", "back"),
    ]

    def compose(self) -> ComposeResult:
        """Lay out the input above the tree."""
        with Vertical(id="open-box"):
            yield Static(id="open-title")
            yield PathInput(id="open-input")
            yield Static(id="open-names")
            yield FileTree(Path.cwd(), id="open-tree")
        yield KeyBar()

    def on_mount(self) -> None:
        """Begin at the input."""
        self.speak()
        self._list([])
        self.query_one(Input).focus()

    def speak(self) -> None:
        """Say what to do."""
        say = say_of(self)
        self.query_one("#open-title", Static).update(Content(say("tui.open.title")))
        self.query_one(Input).placeholder = say("tui.open.placeholder")

    @on(PathInput.Completed)
    def _completed(self, event: PathInput.Completed) -> None:
        self._list(event.names)

    @on(Input.Changed)
    def _changed(self) -> None:
        self._list([])

    def _list(self, names: list[str]) -> None:
        """Show the names among which the path is still open, as many as a few lines hold."""
        shown = self.query_one("#open-names", Static)
        shown.display = bool(names)
        shown.update(Content(fit("  ".join(names), 3 * max(20, self.query_one("#open-box").size.width - 4))))

    @on(WordsInput.Pasted)
    def _pasted(self, event: WordsInput.Pasted) -> None:
        """Read a log that was pasted in place of a path."""
        self._keep(event.text)

    @work(thread=True, group="pasted", exclusive=True)
    def _keep(self, text: str) -> None:
        from distkb.sessions import pasted

        try:
            self.app.call_from_thread(self.dismiss, pasted.keep(text))
        except OSError as problem:
            text = say_of(self)("tui.not-saved", reason=problem.strerror or "")
            self.app.call_from_thread(self.notify, text, severity="error", markup=False)

    def action_to_list(self) -> None:
        """Go from the path to the tree."""
        self.query_one(DirectoryTree).focus()

    @on(Input.Submitted)
    def _typed(self, event: Input.Submitted) -> None:
        self._choose(event.value.strip())

    def _choose(self, typed: str) -> None:
        path = existing(typed)
        if path is not None:
            self.dismiss(path)
        elif typed:
            text = say_of(self)("tui.open.missing", path=plain(typed))
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
