"""The first screen: describe it, open a run, check this machine, browse, or go on with an earlier session."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from distkb.tui import saved
from distkb.tui.keys import KeyBar, key
from distkb.tui.language import fit, say_of, shown
from distkb.tui.widgets.listing import refill
from distkb.tui.widgets.prompt import BREAK, WordsInput

if TYPE_CHECKING:
    from distkb.tui.app import DistkbApp
    from distkb.tui.saved import SavedSession

RESULTS = 8
"""Search results that are shown while typing."""

LONG_S = 1.5
"""Seconds of loading from which it says that the catalogue is compiled, and for how long already."""

JOBS = 3
"""Jobs on this machine that are offered."""

RECENT = 5
"""Earlier sessions that are listed."""

_WAYS = (("open", "F2"), ("check", "F3"), ("browse", "F4"), ("resume", "F5"), ("advise", "F6"))
_ACTIONS = {
    "open": "app.open_run",
    "check": "app.check_machine",
    "browse": "app.browse",
    "resume": "app.earlier",
    "advise": "app.advise",
}
_SESSION, _JOB = "session:", "job:"


class StartScreen(Screen[None]):
    """Asks what is wrong. Whatever is typed is searched for at once; Enter starts a session with it."""

    app: DistkbApp

    class Recent(Message):
        """The earlier sessions are known."""

        def __init__(self, sessions: Sequence[SavedSession]) -> None:
            super().__init__()
            self.sessions = sessions

    BINDINGS: ClassVar[list[BindingType]] = [
        key("f2", "app.open_run", "open"),
        key("f3", "app.check_machine", "check"),
        key("f4", "app.browse", "browse"),
        key("f5", "app.earlier", "resume"),
        key("f6", "app.advise", "advise"),
        key("down", "to_list", "to-list", show=False),
        key("escape", "clear", "clear", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._recent: Sequence[SavedSession] = ()
        self._began = monotonic()

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        yield Static(id="start-title")
        yield Static(id="start-ask")
        yield WordsInput(id="start-input")
        with Vertical(id="start-below"):
            yield OptionList(id="start-results")
            yield OptionList(id="start-ways")
        yield Static(id="start-status")
        yield KeyBar()

    def on_mount(self) -> None:
        """Begin at the input."""
        self.query_one("#start-results").display = False
        self.speak()
        self._clock = self.set_interval(0.5, self._status)
        self.query_one(Input).focus()

    def on_screen_resume(self) -> None:
        """List the sessions and jobs anew: one may have come to its end."""
        self.app.find_jobs()
        if self.app.knowledge is not None:
            self._find_recent()
            self.app.make_spare()

    def speak(self) -> None:
        """Say everything in the language of the app."""
        say = say_of(self)
        self.query_one("#start-title", Static).update(
            Content.assemble(("distkb", "bold $accent"), "  ", say("tui.start.what"))
        )
        self.query_one("#start-ask", Static).update(Content(say("tui.start.ask")))
        self.query_one(Input).placeholder = say("tui.start.placeholder")
        self._list_ways()
        self._status()
        self._search(self.query_one(Input).value)

    def on_resize(self) -> None:
        """Cut the titles where the new width ends."""
        self.call_after_refresh(lambda: self._search(self.query_one(Input).value))

    def _list_ways(self) -> None:
        say = say_of(self)
        rows = [
            Option(Content.assemble(("↵   ", "bold $accent"), (text, "bold")), id=f"{_JOB}{number}")
            for number, text in enumerate(self._offers())
        ]
        rows += [
            Option(Content.assemble((name, "bold $accent"), "  ", say(f"tui.start.{way}")), id=way)
            for way, name in _WAYS
        ]
        if self._recent:
            rows.append(Option(Content.styled(f"\n{say('tui.start.recent')}", "underline"), disabled=True))
        rows += [Option(session_row(session), id=f"{_SESSION}{session.id}") for session in self._recent]
        refill(self.query_one("#start-ways", OptionList), rows)

    def _offers(self) -> list[str]:
        if not self.app.jobs:
            return []
        from distkb.tui.widgets.move import offer

        offered = self.app.jobs[:JOBS]
        return [offer(job, say_of(self), offered) for job in offered]

    def job_found(self) -> None:
        """Offer to look at the job before anything else."""
        self._list_ways()

    def knowledge_ready(self) -> None:
        """Say so, and search for what was typed in the meantime."""
        self._clock.stop()
        self._status()
        self._search(self.query_one(Input).value)
        self._find_recent()

    @work(thread=True, group="recent", exclusive=True)
    def _find_recent(self) -> None:
        self.post_message(self.Recent(saved.recent(RECENT)))

    def on_start_screen_recent(self, message: Recent) -> None:
        """List the earlier sessions."""
        if list(message.sessions) != list(self._recent):
            self._recent = message.sessions
            self._list_ways()

    def _status(self) -> None:
        say = say_of(self)
        known = self.app.knowledge
        waited = monotonic() - self._began
        loading = say("tui.start.loading") if waited < LONG_S else say("tui.start.compiling", n=f"{waited:.0f}")
        text = loading if known is None else say("tui.start.ready", n=len(known.entries))
        self.query_one("#start-status", Static).update(Content(text))

    # Searching

    @on(Input.Changed, "#start-input")
    def _typed(self, event: Input.Changed) -> None:
        self.query_one("#start-results", OptionList).highlighted = None
        self._search(event.value)

    def _search(self, words: str) -> None:
        results = self.query_one("#start-results", OptionList)
        known = self.app.knowledge
        rows: list[Option] = []
        if known is not None and words.strip():
            from distkb.search.query import search

            say = say_of(self)
            for result in search(known.index, words, RESULTS, say.lang):
                # The box, not a list in it: a list that is hidden has no width.
                title = fit(say.text(known.entries[result.id].title), self.query_one("#start-below").size.width - 6)
                row = Content.assemble((f"{result.id:<5}", "bold $accent"), title)
                rows.append(Option(row, id=result.id))
        refill(results, rows)
        results.display = bool(rows)
        self.query_one("#start-ways").display = not rows
        hint = self.query_one("#start-status", Static)
        if rows:
            hint.update(Content(say_of(self)("tui.start.go-on")))
        else:
            self._status()

    @on(OptionList.OptionSelected, "#start-results")
    def _read_entry(self, event: OptionList.OptionSelected) -> None:
        if event.option.id:
            self.app.show_entry(event.option.id)

    @on(Input.Submitted, "#start-input")
    def _begin(self, event: Input.Submitted) -> None:
        words = event.value.strip()
        if not words:
            self._look(0)
            return
        path = existing(words)
        if path is not None:
            self.app.begin(paths=[path])
        else:
            self.app.begin(description=words.replace(BREAK, "\n"))

    @on(WordsInput.Pasted)
    def _pasted(self, event: WordsInput.Pasted) -> None:
        """Read a pasted log at once; what was typed before it describes it."""
        words = self.query_one(Input)
        self.app.begin(words.value.replace(BREAK, "\n"), pasted=event.text)
        words.value = ""

    def action_to_list(self) -> None:
        """Go from the input to the list below it."""
        results = self.query_one("#start-results", OptionList)
        listing = results if results.display else self.query_one("#start-ways", OptionList)
        listing.focus()
        if listing.highlighted is None:
            listing.action_first()

    # Ways on

    @on(OptionList.OptionSelected, "#start-ways")
    async def _way(self, event: OptionList.OptionSelected) -> None:
        way = event.option.id or ""
        if way.startswith(_SESSION):
            self.app.resume_session(way.removeprefix(_SESSION))
        elif way.startswith(_JOB):
            self._look(int(way.removeprefix(_JOB)))
        else:
            await self.run_action(_ACTIONS[way])

    def _look(self, number: int) -> None:
        if number < len(self.app.jobs):
            self.app.look(self.app.jobs[number])

    def action_to_filter(self) -> None:
        """Go to the input."""
        self.query_one(Input).focus()

    def action_clear(self) -> None:
        """Empty the input and go back to it."""
        words = self.query_one(Input)
        words.value = ""
        words.focus()


def existing(words: str) -> Path | None:
    """Return the path that was typed instead of words, where there is such a file or folder."""
    try:
        path = Path(words).expanduser()
        return path if path.exists() else None
    except (OSError, ValueError, RuntimeError):  # too long, a null character, no such home directory
        return None


def session_row(session: SavedSession) -> Content:
    """Return an earlier session as a row of a list: when it began and what it is about."""
    when = shown(session.started.replace("T", " ")[:16])
    return Content.assemble((when.plain, "bold"), "  ", shown(session.title))
