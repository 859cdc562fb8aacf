"""Makes a digest of a diagnosis: a view of the run and of the answer, which concludes nothing by itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

import msgspec

from distkb.diagnosis.model import Contribution, Diagnosis
from distkb.evidence.observation import Closeup, Observation, Passage, Quote, RankState
from distkb.evidence.text.ranks import SHOWN, listed
from distkb.locale import Say
from distkb.report import rollcall
from distkb.report.citations import readable, unmarked
from distkb.report.digest.budget import fit
from distkb.report.digest.ends import Ends, paths_of
from distkb.report.digest.model import Digest, DigestLine, Name, Section
from distkb.report.digest.orders import ends_first, latest_first, places_first, telling_first
from distkb.report.digest.text import cost, write
from distkb.report.digest.tokens import tokens
from distkb.report.layout import clean, cut
from distkb.report.meaning import Meanings
from distkb.report.measure import answer, best_of_entries, could_be, entry_total, percent, strength, supposition
from distkb.report.story import clock, message, tell

BUDGET = 3000
"""Tokens of a digest."""
CAUSES, REASONS, AGAINST = 3, 5, 2
"""Entries, and observations for and against each, that are told."""
LINE, AGAIN = 180, 60
"""Characters of a line of the run, and of a sentence that was told before."""
CORE, MOST_RANKS = 80, 16
"""Characters by which two lines are compared, and ranks that are remembered of a line."""
_FOLDERS = re.compile(r"(?<=\")[^\"\n]{0,200}/(?:site|dist)-packages/")
"""Where a library is installed: what tells nothing in a traceback."""
_WORD = re.compile(r"[^\W\d_]{2}")
_NOISE = 0.15
"""Weight below which an observation changes nothing that a reader could notice."""


def digest(
    diagnosis: Diagnosis,
    meanings: Meanings,
    say: Say,
    *,
    budget: int = BUDGET,
    more: Name | None = None,
    rank: int | None = None,
) -> Digest:
    """Return what decides. `more`: this section alone; `rank`: what is known of this rank."""
    writer = _Writer(diagnosis, meanings, say, whole=more is not None)
    if rank is not None:
        sections = writer.of_rank(rank)
    else:
        sections = [section for section in writer.sections() if more in {None, section.name}]
    made = Digest(
        lang=say.lang,
        budget=budget,
        verdict=diagnosis.verdict,
        part=more or ("" if rank is None else str(rank)),
        base=writer.ends.base,
        sections=(),
    )
    return _within(made, sections, say)


def _within(made: Digest, sections: Sequence[Section], say: Say) -> Digest:
    """Return the digest with as much of the sections as its budget has room for, headings and all."""
    room = made.budget
    while True:
        full = msgspec.structs.replace(made, sections=fit(sections, room, cost))
        over = tokens(write(full, say)) - made.budget
        if over <= 0 or room <= 0:
            return full
        room -= over


def around(passage: Passage, line: int, name: str, say: Say, *, budget: int = BUDGET) -> Digest:
    """Return the lines around one as a digest of one section, the nearest first; `name` is what its file was called."""
    items = [
        DigestLine(
            text=row.text,
            path=passage.path,
            line=row.number,
            place=f"{clean(name)}:{row.number}",
            quoted=True,
            within=number > 0,
            order=number,
        )
        for number, row in enumerate(passage.rows)
    ]
    near = sorted(items, key=lambda item: abs((item.line or 0) - line))
    made = Digest(lang=say.lang, budget=budget, base="", part=f"{clean(name)}:{line}", sections=())
    return _within(made, [Section(name="around", items=tuple(near))], say)


class _Writer:
    """Writes the sections of one diagnosis."""

    def __init__(self, diagnosis: Diagnosis, meanings: Meanings, say: Say, *, whole: bool) -> None:
        self.diagnosis = diagnosis
        self.evidence = diagnosis.evidence
        self.seen = diagnosis.evidence.closeup or Closeup()
        self.meanings = meanings
        self.say = say
        self.whole = whole
        self.everyone = frozenset(one.rank for one in self.evidence.ranks)
        self.told: set[str] = set()
        """Observations that the causes name."""
        self.shown: set[tuple[str | None, int | None]] = set()
        """Lines of the run that stand in the digest, and what they say."""
        self.texts: set[tuple[int | None, str]] = set()
        self.ends = Ends(paths_of(self.evidence))

    def _place(self, quote: Quote) -> str:
        """Return the end of the path and the line of a quote."""
        if quote.path is None:
            return ""
        return self.ends.of(clean(quote.path)) + (f":{quote.line}" if quote.line is not None else "")

    def sections(self) -> list[Section]:
        made: list[tuple[Name, Iterator[DigestLine]]] = [
            ("run", self._run()),
            ("causes", self._causes()),
            ("roll-call", self._roll_call()),
            ("failures", self._passages(self.seen.failures, ends_first)),
            ("places", self._places()),
            ("code", self._passages(self.seen.code, places_first)),
            ("alone", self._said(alone=True)),
            ("numbers", self._numbers()),
            ("endings", self._endings()),
            ("findings", chain(self._shown_by(), self._findings())),
            ("lines", self._said(alone=False)),
            ("course", (self._line(quote, order=n) for n, quote in enumerate(self.seen.course))),
            ("next", self._next()),
            ("scripts", self._passages(self.seen.scripts, telling_first)),
        ]
        return [Section(name=name, items=tuple(items)) for name, items in made]

    def of_rank(self, rank: int) -> list[Section]:
        """Return what is known of one rank."""
        states = [one for one in self.evidence.ranks if one.rank == rank]
        shown = [o for o in self.evidence.observations if o.present and any(q.rank == rank for q in o.quotes)]
        failed = [passage for passage in self.seen.failures if rank in passage.ranks]
        made: list[tuple[Name, Iterator[DigestLine]]] = [
            ("roll-call", chain.from_iterable(self._state(one) for one in states)),
            ("failures", self._passages(failed, ends_first)),
            ("places", self._places(rank)),
            ("findings", chain.from_iterable(self._observation(o, rank) for o in shown)),
            ("rank", self._passages(self.seen.rank, latest_first)),
        ]
        return [Section(name=name, items=tuple(items)) for name, items in made]

    def _line(self, quote: Quote, *, ranks: str = "", within: bool = False, order: int = 0) -> DigestLine:
        """Return a line of the run, with the clock instead of what stands before its message."""
        text = message(quote) if quote.time is not None else unmarked(readable(quote.text))
        when = "" if quote.time is None else f"{clock(quote.time)} "
        if not ranks and quote.rank is not None:
            ranks = str(quote.rank)
        self._shows(quote.path, quote.line, [quote.rank], quote.text)
        return DigestLine(
            text=cut(when + text, LINE),
            path=quote.path,
            line=quote.line,
            place=self._place(quote),
            ranks=ranks,
            quoted=True,
            within=within,
            order=order,
        )

    def _stands(self, quote: Quote) -> bool:
        """Whether a line stands in the digest already, be it as another file repeats it."""
        return (quote.path, quote.line) in self.shown or (quote.rank, _core(quote.text)) in self.texts

    def _shows(self, path: str | None, line: int | None, ranks: Sequence[int | None], text: str) -> None:
        self.shown.add((path, line))
        self.texts |= {(rank, _core(text)) for rank in ranks[:MOST_RANKS]}

    def _sentence(self, text: str, quote: Quote | None = None, **fields: bool | int | str) -> DigestLine:
        place = "" if quote is None else self._place(quote)
        return DigestLine(
            text=text,
            path=None if quote is None else quote.path,
            line=None if quote is None else quote.line,
            place=place,
            **fields,  # type: ignore[arg-type]
        )

    def _who(self, ranks: Sequence[int]) -> str:
        """Return ranks as they are written; `all` where it is everyone of several."""
        if len(ranks) > 1 and self.everyone <= set(ranks):
            return self.say("digest.all")
        return listed(ranks, 6)

    def _run(self) -> Iterator[DigestLine]:
        say, seen, evidence = self.say, self.seen, self.evidence
        size = f"{evidence.bytes_read / 1e6:.1f}"
        yield self._sentence(say("digest.run.read", files=seen.files, lines=seen.lines, size=size))
        if seen.world:
            yield self._sentence(say("digest.run.world", n=seen.world))
        if seen.start is not None and seen.end is not None and seen.start.time is not None:
            span = (seen.end.time or 0.0) - seen.start.time
            yield self._sentence(
                say(
                    "digest.run.span",
                    start=clock(seen.start.time),
                    end=clock(seen.end.time or 0.0),
                    seconds=f"{span:.0f}",
                ),
                seen.end,
            )
        if seen.attempt is not None:
            yield self._sentence(say("digest.run.attempt", n=seen.attempt))
        for one in evidence.runs:
            key = "digest.run.one" if one.diagnosed else "digest.run.older"
            yield self._sentence(say(key, name=clean(one.name), files=one.files))
        if seen.facts:
            yield self._sentence(say("digest.run.facts", facts=", ".join(f"{k}={v}" for k, v in seen.facts.items())))
        facts = sorted({o.id for o in evidence.observations if o.present and "=" in o.id and not o.supposes})
        if facts:
            yield self._sentence(say("digest.run.concluded", facts=", ".join(facts)))
        for skipped in evidence.skipped[:3]:
            yield self._sentence(say("digest.run.skipped", path=clean(skipped.path), code=skipped.code))

    def _causes(self) -> Iterator[DigestLine]:
        say = self.say
        first = self.diagnosis.causes[0] if self.diagnosis.causes else None
        verdict = answer(self.diagnosis)
        name = "" if first is None else first.entry.id
        sure = self.diagnosis.other if verdict == "unknown" else entry_total(self.diagnosis, name)
        if verdict == "unknown" and self.meanings.leaves_unexplained(self.evidence.observations):
            yield self._sentence(say("verdict.unexplained"))
        else:
            yield self._sentence(say(f"verdict.{verdict}", id=name, percent=percent(sure)))
        told = tell(self.evidence, self.meanings, say)
        if told:
            yield self._sentence(told)
        causes = best_of_entries(self.diagnosis)[:CAUSES]
        if self.diagnosis.verdict == "no-evidence":
            causes = could_be(self.diagnosis)
            if not causes:
                return
            yield self._sentence(f"{say(supposition(self.diagnosis))}:")
        for place, ranked in enumerate(causes):
            title = say(
                "report.with-probability", title=say.text(ranked.cause.title), percent=percent(ranked.probability)
            )
            yield self._sentence(f"{ranked.cause.id} {title}")
            ordered = sorted((c for c in ranked.evidence if _tells(c)), key=lambda c: -c.weight)
            supporting = [c for c in ordered if c.weight > 0][: REASONS if place == 0 or self.whole else 2]
            opposing = [c for c in reversed(ordered) if c.weight < 0][: AGAINST if place == 0 or self.whole else 1]
            yield from map(self._reason, (*supporting, *opposing))
        if remedy := self.meanings.remedy(self.diagnosis.remedy, say):
            yield self._sentence(say("digest.remedy", text=remedy))
        if self.diagnosis.fix is not None:
            yield self._sentence(say("digest.fix", id=self.diagnosis.fix.id, title=say.text(self.diagnosis.fix.title)))

    def _reason(self, reason: Contribution) -> DigestLine:
        observation = reason.observation
        quote = observation.quotes[0] if observation.quotes else None
        sentence = self.meanings.seen(observation, self.say)
        if observation.id in self.told:
            sentence = cut(sentence, AGAIN)
        self.told.add(observation.id)
        ranks = "" if quote is None or quote.rank is None else str(quote.rank)
        return self._sentence(f"{strength(reason.weight)} {sentence}", quote, ranks=ranks, within=True)

    def _shown_by(self) -> Iterator[DigestLine]:
        """The lines that show what the causes name, where they stand nowhere else."""
        for observation in self.evidence.observations:
            if observation.id in self.told and observation.present:
                for quote in observation.quotes[: 6 if self.whole else 2]:
                    if not self._stands(quote):
                        yield self._line(quote)

    def _roll_call(self) -> Iterator[DigestLine]:
        for members in rollcall.groups(self.evidence.ranks):
            last = next((one.last for one in members if one.last is not None), None)
            yield self._sentence(rollcall.said(members, self.say, shown=MOST_RANKS if self.whole else SHOWN), last)
        if self.whole:
            yield from chain.from_iterable(map(self._state, self.evidence.ranks))

    def _state(self, one: RankState) -> Iterator[DigestLine]:
        yield self._sentence(rollcall.said([one], self.say), one.last)

    def _passages(
        self, passages: Sequence[Passage], telling: Callable[[Passage], Sequence[int]]
    ) -> Iterator[DigestLine]:
        """Return the lines of passages; `telling` says in which order they matter, as places in the passage."""
        order = 0
        for passage in passages:
            who = self._who(passage.ranks) if passage.ranks else ""
            items: list[DigestLine] = []
            again = telling is not telling_first
            known = {n for n, row in enumerate(passage.rows) if (passage.path, row.number) in self.shown and not again}
            for row in passage.rows:
                order += 1
                quote = Quote(text=row.text, path=passage.path, line=row.number)
                self._shows(passage.path, row.number, passage.ranks or [None], row.text)
                item = DigestLine(
                    text=cut(_FOLDERS.sub("…/", unmarked(readable(row.text))).rstrip(), LINE),
                    path=passage.path,
                    line=row.number,
                    place=self._place(quote),
                    ranks=self._who(row.ranks) if row.ranks else "" if items else who,
                    quoted=True,
                    within=bool(items),
                    order=order,
                )
                items.append(item)
            yield from (items[index] for index in telling(passage) if index not in known)

    def _places(self, rank: int | None = None) -> Iterator[DigestLine]:
        for stand in self.seen.stands:
            if rank is not None and rank not in stand.ranks:
                continue
            who = self._who(stand.ranks)
            if stand.waits:
                key = "digest.waits" if stand.call else "digest.waits.unknown"
            else:
                key = "digest.works" if stand.call else "digest.works.unknown"
            yield self._sentence(self.say(key, who=who or "?", call=stand.call), stand.seen)
            for frame in stand.frames[-4:]:
                yield self._line(frame, within=True)

    def _said(self, *, alone: bool) -> Iterator[DigestLine]:
        chosen = [one for one in self.seen.said if one.alone == alone and _WORD.search(one.quote.text)]
        place = {id(one): n for n, one in enumerate(sorted(chosen, key=lambda one: _when(one.quote)))}
        for one in chosen:
            who = self._who(one.ranks)
            times = f"×{one.times}" if one.times > max(1, len(one.ranks)) else ""
            yield self._line(one.quote, ranks=f"{who} {times}".strip(), order=place[id(one)])
            yield from (self._line(quote, within=True, order=place[id(one)]) for quote in one.also)

    def _numbers(self) -> Iterator[DigestLine]:
        for odd in self.seen.odd:
            who = self._who(odd.ranks)
            yield self._sentence(self.say("digest.odd", who=who, number=odd.number, usual=odd.usual), odd.quote)
            yield self._line(odd.quote, within=True)

    def _endings(self) -> Iterator[DigestLine]:
        for observation in self.evidence.observations:
            if observation.present and self.meanings.is_ending(observation):
                yield from self._observation(observation)

    def _findings(self) -> Iterator[DigestLine]:
        """What was found and the causes do not name: the failure itself first."""
        found = [
            o
            for o in self.evidence.observations
            if o.present and o.quotes and "=" not in o.id and not self.meanings.is_ending(o) and o.id not in self.told
        ]
        for observation in sorted(found, key=self.meanings.nearness):
            yield from self._observation(observation)

    def _observation(self, observation: Observation, rank: int | None = None) -> Iterator[DigestLine]:
        """Return what was observed with the lines that show it, those that stand above by their places alone."""
        quotes = [quote for quote in observation.quotes if rank in {None, quote.rank}][: 6 if self.whole else 2]
        new = [quote for quote in quotes if not self._stands(quote)]
        first = quotes[0] if quotes and not new else None
        yield self._sentence(self.meanings.seen(observation, self.say), first)
        yield from (self._line(quote, within=True) for quote in new)

    def _next(self) -> Iterator[DigestLine]:
        step = self.diagnosis.next.step if self.diagnosis.next else None
        for chosen in (step, self.diagnosis.collect):
            if chosen is not None:
                yield self._sentence(self.say.text(chosen.text))
                yield from (self._sentence(f"$ {command}", within=True) for command in chosen.commands)


def _tells(reason: Contribution) -> bool:
    """Whether a reason is worth a line: what is known of the run as a whole stands above."""
    return abs(reason.weight) >= _NOISE and "=" not in reason.observation.id


def _core(text: str) -> str:
    """What two files have of the same line, of which one may be cut."""
    return unmarked(text).strip()[:CORE]


def _when(quote: Quote) -> tuple[float, str, int]:
    return quote.time or 0.0, quote.path or "", quote.line or 0
