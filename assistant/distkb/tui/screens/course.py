"""The course of events: what the run printed that tells, in order of time, and what became of every rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from distkb.report.citations import Citations
from distkb.report.layout import wrap
from distkb.report.rollcall import lines as roll_call
from distkb.report.story import clock, exact, message, tell
from distkb.tui.keys import key
from distkb.tui.language import fit, say_of
from distkb.tui.screens.quotes import QuotesScreen
from distkb.tui.widgets.listing import refill, room

if TYPE_CHECKING:
    from distkb.evidence.observation import Evidence, Quote


MOST_RANKS = 200
"""Ranks whose last words are put in order; what became of the others stands below."""


def course(evidence: Evidence) -> list[Quote]:
    """Return the failures and the last words of the first ranks in order of time."""
    noted = {(quote.path, quote.line) for quote in evidence.notes}
    last = [one.last for one in evidence.ranks[:MOST_RANKS] if one.last is not None]
    rows = [*evidence.notes]
    for quote in last:
        if (quote.path, quote.line) not in noted and quote.path is not None:
            rows.insert(next((n for n, row in enumerate(rows) if _before(quote, row)), len(rows)), quote)
    return rows


def _before(one: Quote, other: Quote) -> bool:
    """Whether it is known that a line was printed before another one: by their times, else by their place in a file."""
    if one.time is not None and other.time is not None:
        return one.time < other.time
    return one.path == other.path and one.line is not None and other.line is not None and one.line < other.line


class CourseScreen(QuotesScreen):
    """Lists the course of events; Enter opens a line where it stands."""

    BINDINGS: ClassVar[list[BindingType]] = [key("escape,t", "back", "back")]
    IDS = ("course-title", "course-story", "course-list")

    def speak(self) -> None:
        """Say everything in the language of the app."""
        known, say = self.app.knowledge, say_of(self)
        view = None if self.app.current is None else self.app.current.view
        if known is None or view is None:
            return
        evidence = view.diagnosis.evidence
        self.query_one("#course-title", Static).update(Content.styled(say("report.events"), "bold"))
        story = self.query_one("#course-story", Static)
        story.update(Content(told := tell(evidence, known.meanings, say)))
        story.display = bool(told)
        columns = room(self.query_one(OptionList))
        self._targets = []
        rows = self._events(evidence, columns)
        if ranks := roll_call(evidence.ranks, say):
            rows.append(self._row(Content.styled(say("tui.course.ranks"), "bold underline")))
            rows += [self._row(Content("\n".join(wrap(line, columns, "", "  ")))) for line in ranks]
        if not rows:
            rows.append(self._row(Content(say("tui.course.none"))))
        refill(self.query_one(OptionList), rows, highlighted=0)

    def _events(self, evidence: Evidence, columns: int) -> list[Option]:
        """Return a row for each event: its time, whose it is and where it stands, and below that what was printed."""
        say, citations = say_of(self), Citations(evidence)
        rows = []
        for found in course(evidence):
            quote = citations.best(found) if found in evidence.notes else found
            time = "" if quote.time is None else ("" if exact(quote) else "~") + clock(quote.time)
            rank = "" if quote.rank is None else say("report.rank", rank=quote.rank)
            head = "  ".join(filter(None, (time, rank, citations.place(quote))))
            said = fit(message(quote), columns - 2)
            rows.append(self._row(Content.assemble((fit(head, columns), "dim"), f"\n  {said}"), quote))
        return rows
