"""Why a cause ranks where it does: what speaks for it and against it, each line where it stands."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from distkb.report.citations import Citations
from distkb.report.layout import wrap
from distkb.report.measure import percent, strength
from distkb.tui.keys import key
from distkb.tui.language import fit, say_of
from distkb.tui.screens.quotes import QuotesScreen
from distkb.tui.widgets.listing import refill, room
from distkb.tui.widgets.trail import quoted

if TYPE_CHECKING:
    from distkb.diagnosis.model import Contribution, RankedCause

NOISE = 0.1
"""What moves a cause by less than this is left out."""
QUOTES = 2


class ExplainScreen(QuotesScreen):
    """Lists the evidence of one entry's most probable cause, the failure itself first; Enter opens a quote."""

    IDS = ("explain-title", "explain-cause", "explain-list")
    BINDINGS: ClassVar[list[BindingType]] = [
        key("o", "read_entry", "read-entry"),
        key("f", "fix", "fix"),
        key("escape", "back", "back"),
    ]

    def __init__(self, entry: str) -> None:
        """Take the entry's id."""
        super().__init__()
        self._entry = entry
        self._all = False

    def _ranked(self) -> RankedCause | None:
        view = None if self.app.current is None else self.app.current.view
        causes = () if view is None else view.diagnosis.causes
        return next((ranked for ranked in causes if ranked.entry.id == self._entry), None)

    def speak(self) -> None:
        """Say everything in the language of the app."""
        known, say, ranked = self.app.knowledge, say_of(self), self._ranked()
        if known is None:
            return
        title = say.text(known.entries[self._entry].title)
        total = "" if ranked is None else percent(self._total())
        head = Content.assemble((f"{self._entry}  ", "bold $accent"), (title, "bold"), f"  {total}")
        self.query_one("#explain-title", Static).update(head)
        cause = say("tui.explain.nothing") if ranked is None else f"{ranked.cause.id}  {say.text(ranked.cause.title)}"
        self.query_one("#explain-cause", Static).update(Content(cause))
        self._targets = []
        rows = [] if ranked is None else self._rows(ranked)
        refill(self.query_one(OptionList), rows, highlighted=0)

    def _total(self) -> float:
        view = None if self.app.current is None else self.app.current.view
        return 0.0 if view is None else next((row.probability for row in view.entries if row.id == self._entry), 0.0)

    def _rows(self, ranked: RankedCause) -> list[Option]:
        say, known = say_of(self), self.app.knowledge
        if known is None:
            return []
        evidence = [c for c in ranked.evidence if abs(c.weight) >= NOISE]
        evidence.sort(key=lambda c: (known.meanings.nearness(c.observation), -abs(c.weight)))
        folded = [c for c in evidence if not c.observation.present or known.meanings.is_echo(c.observation)]
        telling = [c for c in evidence if c not in folded]
        rows: list[Option] = []
        for name, none, chosen in (
            ("tui.explain.for", "tui.explain.nothing-for", [c for c in telling if c.weight > 0]),
            ("tui.explain.against", "tui.explain.nothing-against", [c for c in telling if c.weight < 0]),
        ):
            rows += self._heading(say(name))
            rows += self._group(chosen) or self._line(say(none))
        if folded:
            sign = "▾" if self._all else "▸"
            rows.append(
                self._row(Content.styled(f"{sign} {say.count('tui.trail.more', len(folded))}", "dim"), None, "fold")
            )
        return rows + (self._group(folded) if self._all else [])

    def _heading(self, text: str) -> list[Option]:
        return [self._row(Content.styled(text, "bold underline"))]

    def _line(self, text: str) -> list[Option]:
        return [self._row(Content(f"  {text}"))]

    def _group(self, contributions: Iterable[Contribution]) -> list[Option]:
        say, known = say_of(self), self.app.knowledge
        view = None if self.app.current is None else self.app.current.view
        if known is None or view is None:
            return []
        citations = Citations(view.diagnosis.evidence)
        columns = room(self.query_one(OptionList))
        rows: list[Option] = []
        for one in contributions:
            quotes = one.observation.quotes[:QUOTES]
            lines = wrap(known.meanings.seen(one.observation, say), columns, f"{strength(one.weight):<4}", "    ")
            rows.append(self._row(Content("\n").join(map(Content, lines)), quotes[0] if quotes else None))
            for quote in quotes:
                text = fit(quoted(quote, citations, say), columns - 6)
                rows.append(self._row(Content.styled(f"      {text}", "dim"), quote))
        return rows

    def chosen(self, name: str) -> None:  # noqa: ARG002 - only the fold has a name
        """Show what was folded, or fold it again."""
        self._all = not self._all
        self.speak()

    def action_read_entry(self) -> None:
        """Read the whole entry."""
        self.app.show_entry(self._entry)

    def action_fix(self) -> None:
        """Read the first fix of the cause."""
        ranked = self._ranked()
        if ranked is not None and ranked.cause.fixes:
            self.app.show_fix(ranked.cause.fixes[0].id)
