"""The diagnosis for people: the answer first, then why, what happened, what else it could be, and the fix."""

from __future__ import annotations

from collections.abc import Iterable

from distkb.catalogue.model import Fix
from distkb.diagnosis.model import Contribution, Diagnosis, RankedCause
from distkb.evidence.observation import Observation, Quote
from distkb.locale import Say
from distkb.report import rollcall
from distkb.report.citations import Citations, readable, unmarked
from distkb.report.decided import decided
from distkb.report.layout import clean, cut, pad, width
from distkb.report.meaning import COLLECT, Meanings
from distkb.report.measure import (
    CLEAR,
    Answer,
    answer,
    best_of_entries,
    could_be,
    entry_total,
    percent,
    runner_up,
    siblings,
    strength,
    supposition,
)
from distkb.report.page import Ink, Page, plain
from distkb.report.story import clock, exact, message, tell

FOR_SHOWN, AGAINST_SHOWN, EVENTS_SHOWN, CANDIDATES = 6, 3, 8, 3
"""How many observations for and against, events and candidates are printed; the JSON holds them all."""
_NOISE = 0.15
"""Weight below which an observation changes nothing that a reader could notice."""


def write(
    diagnosis: Diagnosis,
    meanings: Meanings,
    say: Say,
    *,
    columns: int = 80,
    ink: Ink = plain,
) -> str:
    """Return the diagnosis as text of `columns` display columns."""
    page = Page(columns, ink)
    write_on(page, diagnosis, meanings, say)
    return page.text()


def write_on(page: Page, diagnosis: Diagnosis, meanings: Meanings, say: Say) -> None:
    """Add the diagnosis to a page."""
    _Writer(diagnosis, meanings, say, page).write()


class _Writer:
    """Writes one diagnosis onto one page."""

    def __init__(self, diagnosis: Diagnosis, meanings: Meanings, say: Say, page: Page) -> None:
        self.diagnosis = diagnosis
        self.meanings = meanings
        self.say = say
        self.page = page
        self.answer: Answer = answer(diagnosis)
        self.citations = Citations(diagnosis.evidence)
        self._quoted: set[object] = set()
        self._base_said = False

    def write(self) -> None:
        first = self.diagnosis.causes[0] if self.diagnosis.causes else None
        if self.answer in {"no-evidence", "nothing-wrong"}:
            self._nothing()
        elif first is None or self.answer == "unknown":
            self._unknown(first)
        elif self.answer == "undecided":
            self._undecided()
        else:
            self._found(first)

    def _nothing(self) -> None:
        """Say that nothing fails, and what it could be if something is wrong all the same."""
        say, page = self.say, self.page
        page.title(say(f"verdict.{self.answer}"))
        supposed = could_be(self.diagnosis)
        if supposed:
            page.blank()
            self._story()
            page.heading(say(supposition(self.diagnosis)))
            for ranked in supposed:
                self._candidate(ranked, [one for one in _for(ranked)[:1] if one.weight >= CLEAR])
        self._events()
        self._next()
        if supposed:
            self._read_more()

    def _story(self) -> None:
        told = tell(self.diagnosis.evidence, self.meanings, self.say)
        if told:
            self.page.paragraph(told, indent="")
        for line in rollcall.lines(self.diagnosis.evidence.ranks, self.say):
            self.page.item("-", line)

    def _found(self, first: RankedCause) -> None:
        say, page = self.say, self.page
        total = percent(entry_total(self.diagnosis, first.entry.id))
        page.title(say(f"verdict.{self.answer}", id=first.entry.id, percent=total))
        self._story()
        page.blank()
        page.title(say.text(first.entry.title), first=f"{first.entry.id}  ")
        page.item(f"{first.cause.id} ", self._form(first))
        remedy = self._remedy()
        if remedy:
            page.item(say("report.fix-in-short"), remedy)
        if self.diagnosis.fix:
            short = "report.fix-in-general" if remedy else "report.fix-in-short"
            page.item(say(short), _fix_title(self.diagnosis.fix, say))
        page.blank()
        page.paragraph(say.text(first.cause.explanation))
        if others := siblings(self.diagnosis, first):
            page.heading(say("report.siblings"))
            self._siblings(others)
        self._why(first)
        self._events()
        self._rival(first)
        if self.diagnosis.fix:
            write_fix(page, self.diagnosis.fix, say)
            self._other_fixes(first, self.diagnosis.fix)
        self._next()

    def _remedy(self) -> str:
        """Return what the finding behind the first cause says to change; empty without one."""
        return self.meanings.remedy(self.diagnosis.remedy, self.say)

    def _form(self, ranked: RankedCause) -> str:
        """Return the cause's title, with its own probability where the entry has several causes."""
        title = self.say.text(ranked.cause.title)
        if len(ranked.entry.causes) == 1:
            return title
        return self.say("report.with-probability", title=title, percent=percent(ranked.probability))

    def _undecided(self) -> None:
        say, page = self.say, self.page
        page.title(say("verdict.undecided"))
        self._story()
        self._decided("report.points-most", indent="")
        for ranked in self._candidates():
            self._candidate(ranked, [*_for(ranked)[:2], *_against(ranked)[:1]])
        self._events()
        self._tell_apart()
        self._next()
        self._read_more()

    def _candidate(self, ranked: RankedCause, reasons: list[Contribution]) -> None:
        """Write one cause of several that are not told apart: its titles, some reasons and its first repair."""
        say, page = self.say, self.page
        page.blank()
        probability = percent(entry_total(self.diagnosis, ranked.entry.id))
        title = say("report.with-probability", title=say.text(ranked.entry.title), percent=probability)
        page.title(title, first=f"{ranked.entry.id}  ")
        page.item(f"{ranked.cause.id} ", say.text(ranked.cause.title))
        self._contributions(reasons, indent="  ")
        remedy = self._remedy() if ranked is self.diagnosis.causes[0] else ""
        for fix in ranked.cause.fixes[:1]:
            page.item(say("report.fix-if"), remedy or _fix_title(fix, say))
        if ranked is self.diagnosis.causes[0]:
            self._siblings(siblings(self.diagnosis, ranked))

    def _siblings(self, others: Iterable[RankedCause]) -> None:
        """Write the other causes of an entry that are not told from its first, each with its first repair."""
        for ranked in others:
            self.page.item(f"{ranked.cause.id} ", self._form(ranked))
            for fix in ranked.cause.fixes[:1]:
                self.page.item(self.say("report.fix-if"), _fix_title(fix, self.say))

    def _unknown(self, nearest: RankedCause | None) -> None:
        say, page = self.say, self.page
        unexplained = self.meanings.leaves_unexplained(self.diagnosis.evidence.observations)
        moved = nearest is not None and bool(_for(nearest))
        page.title(
            say("verdict.unexplained" if unexplained else "verdict.unknown", percent=percent(self.diagnosis.other))
        )
        self._story()
        if nearest is not None and (moved or not unexplained):
            page.heading(say("report.nearest"))
            for ranked in self._candidates():
                probability = percent(entry_total(self.diagnosis, ranked.entry.id))
                title = say.text(ranked.entry.title)
                page.item(ranked.entry.id, say("report.with-probability", title=title, percent=probability))
        seen = [o for o in self.diagnosis.evidence.observations if self.meanings.is_failure(o)]
        if seen:
            page.heading(say("report.seen"))
            for observation in seen[:FOR_SHOWN]:
                page.item("-", self.meanings.seen(observation, say))
                for quote in observation.quotes[:1]:
                    self._quote(quote, indent="    ")
        self._events()
        if unexplained:
            page.heading(say("report.collect"))
            for what in COLLECT:
                page.item("-", say(f"report.collect.{what}"))
        self._next()

    def _candidates(self) -> tuple[RankedCause, ...]:
        """Return the best cause of each of the most probable entries."""
        return best_of_entries(self.diagnosis)[:CANDIDATES]

    def _why(self, ranked: RankedCause) -> None:
        supporting, opposing = _for(ranked), _against(ranked)
        if supporting:
            self.page.heading(self.say("report.why"))
            self._decided("report.decided")
            self._contributions(sorted(supporting[:FOR_SHOWN], key=self._order))
            self._left_out(len(supporting) - FOR_SHOWN)
        self.page.heading(self.say("report.against"))
        if opposing:
            self._contributions(opposing[:AGAINST_SHOWN])
            self._left_out(len(opposing) - AGAINST_SHOWN)
        else:
            self.page.paragraph(self.say("report.nothing-against"))

    def _decided(self, key: str, indent: str = "  ") -> None:
        """Say which of several sources told the first cause from the others."""
        found = decided(self.diagnosis)
        if found is not None:
            source = self.say(f"report.source.{found.source}")
            place = "" if found.quote is None else self._place(self.citations.best(found.quote))
            said = self.say("report.source-at", source=source, place=place) if place else source
            self.page.paragraph(self.say(key, source=said, id=self.diagnosis.causes[0].entry.id), indent)

    def _order(self, contribution: Contribution) -> tuple[int, float]:
        """Return the place of an observation: the failure itself, then what was found, then its echoes."""
        return self.meanings.nearness(contribution.observation), -contribution.weight

    def _contributions(self, contributions: list[Contribution], indent: str = "  ") -> None:
        for contribution in contributions:
            observation = contribution.observation
            sentence = self.meanings.seen(observation, self.say)
            self.page.item(f"{strength(contribution.weight):<3}", sentence, indent)
            if observation.source == "fact":  # what the user typed a moment ago needs no quoting
                continue
            shown = telling(observation)
            more = observation.count - len(shown)
            for quote in shown:
                more -= self._quote(quote, indent + "    ")
            if more > 0 and observation.quotes:
                self.page.paragraph(self.say.count("report.more-times", more), indent + "    ", "faint")

    def _left_out(self, number: int) -> None:
        if number > 0:
            self.page.paragraph(self.say.count("report.left-out", number), role="faint")

    def _quote(self, quote: Quote, indent: str) -> int:
        """Print a quote, once in the page and with all places of the same line; return how many others there are."""
        best, also, key = self.citations.best(quote), self.citations.also(quote), self.citations.key(quote)
        also = [place for place in also if place != self.citations.place(best)]
        if best.path != quote.path:
            also.append(self.citations.place(quote))
        also = sorted(set(also))
        if key in self._quoted or (quote.line is None and quote.text in self._quoted):
            file = self._place(best).rpartition("/")[2]
            above = self.say("report.quoted-above", place=file) if file else self.say("report.quoted-above.words")
            self.page.paragraph(above, indent, "faint")
            return len(also)
        self._quoted |= {key, quote.text}
        self._say_base(indent)
        if place := self._place(best):
            self.page.line(place, indent, "label")
        if best.text:
            self.page.quote(readable(best.text), indent)
        for other in also:
            self.page.line(self.say("report.also-in", place=other), indent, "faint")
        return len(also)

    def _say_base(self, indent: str) -> None:
        """Say once, before the first place, which folder the places are in."""
        if self.citations.base and not self._base_said:
            self.page.line(self.say("report.base", path=clean(self.citations.base)), indent, "faint")
        self._base_said = True

    def _place(self, quote: Quote) -> str:
        """Return `path:line` and the rank of a quote, as far as they are known."""
        place = self.citations.place(quote)
        if not place and quote.line is not None:
            place = self.say("report.report-line", line=quote.line)
        if quote.rank is None:
            return place
        rank = self.say("report.rank", rank=quote.rank)
        return f"{place} ({rank})" if place else rank

    def _events(self) -> None:
        notes = self.diagnosis.evidence.notes
        if len(notes) < 2:
            return
        page = self.page
        page.heading(self.say("report.events"))
        self._say_base("  ")
        shown = notes[:EVENTS_SHOWN]
        times = [_moment(note) for note in shown]
        ranks = ["" if note.rank is None else self.say("report.rank", rank=note.rank) for note in shown]
        indent = "  " + "".join(" " * (max(map(width, cells)) + 2) for cells in (times, ranks) if any(cells))
        for time, rank, note in zip(times, ranks, shown, strict=True):
            first = "  "
            if any(times):
                first += pad(time, max(map(width, times))) + "  "
            if any(ranks):
                first += pad(rank, max(map(width, ranks))) + "  "
            best = self.citations.best(note)
            words = cut(message(best), max(12, page.columns - width(first)))
            page.line(words, first)
            if place := self.citations.place(best):
                page.line(place, indent, "label")
        self._left_out(len(notes) - EVENTS_SHOWN)

    def _rival(self, first: RankedCause) -> None:
        rival = runner_up(self.diagnosis)
        if rival is None:
            return
        say, page = self.say, self.page
        page.heading(say("report.runner-up"))
        title = say("report.with-probability", title=say.text(rival.cause.title), percent=percent(rival.probability))
        page.item(rival.cause.id, title)
        how = _how_to_tell(first, rival, say)
        if how:
            page.paragraph(say("report.tell-apart", how=how))
        elif self.diagnosis.next and self.diagnosis.next.step:
            page.paragraph(say("report.tell-apart-next"))

    def _tell_apart(self) -> None:
        candidates = self._candidates()
        pairs = [(a, b) for i, a in enumerate(candidates) for b in candidates[i + 1 :]]
        known = [(a, b, how) for a, b in pairs if (how := _how_to_tell(a, b, self.say))]
        if known:
            self.page.heading(self.say("report.tell-them-apart"))
            for a, b, how in known:
                self.page.item(f"{a.entry.id}/{b.entry.id}:", how)

    def _other_fixes(self, first: RankedCause, shown: Fix) -> None:
        others = [fix for fix in first.cause.fixes if fix.id != shown.id]
        if others:
            self.page.heading(self.say("report.other-fixes", id=first.entry.id))
            for fix in others:
                self.page.item(fix.id, _fix_title(fix, self.say))

    def _read_more(self) -> None:
        ids = [ranked.entry.id for ranked in self._candidates()]
        if ids:
            self.page.heading(self.say("report.read-more"))
            for identity in ids:
                self.page.command(f"distkb show {identity}")

    def _next(self) -> None:
        say, page = self.say, self.page
        fix = self.diagnosis.next.fix if self.diagnosis.next else None
        if fix is not None:
            page.heading(say("report.next.fix"))
            page.paragraph(say("report.apply", id=fix.id))
        step = self.diagnosis.next.step if self.diagnosis.next else None
        for position, chosen in enumerate([step, self.diagnosis.collect]):
            if chosen is not None:
                page.heading(say(f"report.{'next' if position == 0 else 'or'}.{chosen.kind}"))
                page.paragraph(say.text(chosen.text))
                for command in chosen.commands:
                    page.command(command)


def telling(observation: Observation) -> tuple[Quote, ...]:
    """Return the quotes to print: the first, and where ranks are compared one of another rank that differs."""
    first, *others = observation.quotes or (None,)
    if first is None:
        return ()
    words = unmarked(first.text)
    compared = observation.id.startswith(("logs.", "flight-recorder."))
    other = next((q for q in others if compared and q.rank != first.rank and unmarked(q.text) != words), None)
    return (first,) if other is None else (first, other)


def _moment(note: Quote) -> str:
    """Return the wall clock of an event, marked where its line does not carry it; empty where it is not known."""
    if note.time is None:
        return ""
    return f"{' ' if exact(note) else '~'}{clock(note.time)}"


def _for(ranked: RankedCause) -> list[Contribution]:
    return [c for c in ranked.evidence if c.weight >= _NOISE]


def _against(ranked: RankedCause) -> list[Contribution]:
    return sorted((c for c in ranked.evidence if c.weight <= -_NOISE), key=lambda c: c.weight)


def _how_to_tell(one: RankedCause, other: RankedCause, say: Say) -> str:
    """Return what tells two causes apart, as either of them says it; empty where neither does."""
    for here, there in ((one, other), (other, one)):
        for confusion in here.cause.confused_with:
            if confusion.id in {there.entry.id, there.cause.id}:
                return say.text(confusion.how_to_tell)
    return ""


def _fix_title(fix: Fix, say: Say) -> str:
    title = say.text(fix.title)
    return say("fix.workaround-title", title=title) if fix.workaround else title


def write_fix(page: Page, fix: Fix, say: Say, *, heading: bool = True) -> None:
    """Add one fix: what to do, the commands, the change of code, what to declare, and how to see that it worked."""
    title = _fix_title(fix, say)
    if heading:
        page.heading(say("fix.heading", id=fix.id, title=title))
    else:
        page.blank()
        page.item(fix.id, title, role="heading")
    page.paragraph(say("fix.terms", cost=say(f"cost.{fix.cost}"), risk=say(f"risk.{fix.risk}")), role="faint")
    if fix.workaround:
        page.paragraph(say("fix.workaround"))
    for number, step in enumerate(fix.steps, start=1):
        page.item(f"{number}.", say.text(step))
    for command in fix.commands:
        page.command(command)
    if fix.code:
        page.blank()
        page.change(fix.code, "    ")
        page.blank()
    if fix.changes_results:
        page.paragraph(say("fix.changes-results", text=say.text(fix.changes_results)))
    page.paragraph(say("fix.verify", text=say.text(fix.verify)))
