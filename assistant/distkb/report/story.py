"""What happened first, in one sentence, as the ranks' output shows it when it is laid side by side."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import PurePath

from distkb.evidence.observation import Evidence, Observation, Quote, RankState
from distkb.evidence.text.ranks import listed
from distkb.locale import Say
from distkb.report.citations import readable, unmarked
from distkb.report.layout import clean, cut
from distkb.report.meaning import Meanings

_MESSAGE, _CALL, _LINE, _RANKS = 150, 60, 80, 4
"""Columns of an error, of a call and of a log line inside a sentence, and the most ranks that are listed by number."""
_RUNS = 3
"""The most older runs that are named."""
_MOST_PLACES = 3
"""The most places at which ranks stand that one sentence can tell."""
_NOTHING = "\0"
"""Stands for an unknown time until the blank beside it is taken out with it; log text cannot hold it."""
_ENDED = re.compile(
    r"SignalException: Process \d{1,10} got signal: (\d{1,3})|Received (?:Signals\.SIG)?(\w{1,9}) death signal"
)
"""What torchrun prints where it was ended from outside."""
_SIGNAL = re.compile(r"\((SIG[A-Z0-9]+)\)")
_FRAME = re.compile(r'File "(?P<path>[^"]+)", line (?P<line>\d{1,9}), in \S+\s+(?P<code>\S.*)')
_ERROR = re.compile(r"^(?:[\w.]+\.)?\w*(?:Error|Exception|Exit|Interrupt|Timeout)\w*\b(?!\()")
_CPP_PLACE = re.compile(r"\[…/[^\]]*\] ")
_CLOCK = re.compile(r"\d\d:\d\d:\d\d")
_CLOSED = re.compile(
    r"(?i)connection (?:was )?(?:closed|reset)|closed by (?:remote )?peer|broken pipe|remote process\sexited"
)
_HEAD = re.compile(r"^(?:[\d\-/:.,T Z]{8,}|\[[^\]]*\]|\s|-|\||(?:DEBUG|INFO|WARN(?:ING)?|ERROR)\b:?)+")
"""Time, rank and level before the message of a log line: the sentence says them itself."""


def tell(evidence: Evidence, meanings: Meanings, say: Say) -> str:
    """Return what happened first, and what a reader concluded from it; empty where the evidence does not show it."""
    seen = {o.id: o for o in evidence.observations if o.present and o.quotes}

    def first(sentences: dict[str, Sentence]) -> str:
        told = (make(seen[finding].quotes, seen, say) for finding, make in sentences.items() if finding in seen)
        return next(filter(None, told), "")

    told = first(_SENTENCES) or _stood(evidence.ranks, say) or first(_ENDS)
    told = told or _first_error(evidence, meanings, say)
    concluded = [meanings.seen(o, say) for o in meanings.concluded(seen.values())]
    return " ".join(filter(None, (_polished(told), *concluded, _older_runs(evidence, say))))


def _older_runs(evidence: Evidence, say: Say) -> str:
    """Which runs lie beside the one that is told of; empty where it is the only one."""
    older = [clean(PurePath(run.name).name) for run in evidence.runs if not run.diagnosed]
    if not older:
        return ""
    shown = ", ".join(older[-_RUNS:]) + ("…" if len(older) > _RUNS else "")
    return say("story.older-runs", count=len(older), runs=shown)


def _polished(told: str) -> str:
    """Return sentences with a capital first, no gap for an unknown time and one mark after shortened words."""
    told = re.sub(f" {_NOTHING}|{_NOTHING} ?", "", told)
    return (told[:1].upper() + told[1:]).replace("….", "…")


def clock(time: float) -> str:
    """Return the wall clock of a time: HH:MM:SS.t, as the log printed it."""
    tenths = int(time * 10 + 1e-6) % 864_000
    minutes, rest = divmod(tenths, 600)
    return f"{minutes // 60:02}:{minutes % 60:02}:{rest // 10:02}.{rest % 10}"


def exact(quote: Quote) -> bool:
    """Whether the line itself carries its time; a traceback has only that of the line before it."""
    return _CLOCK.search(quote.text[:_LINE]) is not None


Sentence = Callable[[tuple[Quote, ...], dict[str, Observation], Say], str]


def _failed_first(quotes: tuple[Quote, ...], _: dict[str, Observation], say: Say) -> str:
    first, *others = quotes
    signal = _SIGNAL.search(first.text)
    if signal:
        told = say("story.killed-first", rank=_rank(first, say), at=_at(first, say), signal=signal[1])
    else:
        told = say("story.failed-first", rank=_rank(first, say), at=_at(first, say), error=_error(first))
    if not others:
        return told
    closed = any(_CLOSED.search(quote.text) for quote in others)
    return f"{told} {say('story.others-closed' if closed else 'story.others-waited')}"


def _same_error(quotes: tuple[Quote, ...], _: dict[str, Observation], say: Say) -> str:
    ranks = _ranks(quotes)
    error = _error(quotes[0])
    if 1 < len(ranks) <= _RANKS:
        return say("story.same-error", ranks=_listed(ranks, say), at=_at(quotes[0], say), error=error)
    return say("story.same-error-everywhere", at=_at(quotes[0], say), error=error)


def _own_error(quotes: tuple[Quote, ...], _: dict[str, Observation], say: Say) -> str:
    ranks = _ranks(quotes)
    if len(ranks) > 1:
        first = _rank(quotes[0], say)
        return say(
            "story.own-errors",
            ranks=_listed(ranks[:_RANKS], say),
            rank=first,
            at=_at(quotes[0], say),
            error=_error(quotes[0]),
        )
    return say("story.own-error", rank=_rank(quotes[0], say), at=_at(quotes[0], say), error=_error(quotes[0]))


def _finished_early(quotes: tuple[Quote, ...], _: dict[str, Observation], say: Say) -> str:
    if len(quotes) < 2:
        return ""
    gone, waiting = quotes[0], quotes[-1]
    return say(
        "story.finished-early",
        rank=_rank(gone, say),
        at=_at(gone, say),
        line=_message(gone),
        other=_rank(waiting, say),
    )


def _still_working(quotes: tuple[Quote, ...], seen: dict[str, Observation], say: Say) -> str:
    if len(quotes) < 2:
        return ""
    busy, quiet = quotes[:2]
    values = {"rank": _rank(busy, say), "at": _at(busy, say), "line": _message(busy), "other": _rank(quiet, say)}
    stand = _stands(quiet.rank, seen.values())
    if stand is not None:
        call, place = stand
        return say("story.still-working-call", call=call, place=place, **values)
    return say("story.still-working", since=_at(quiet, say), **values)


def _different_calls(quotes: tuple[Quote, ...], seen: dict[str, Observation], say: Say) -> str:
    stands = [(quote, found) for quote in _by_rank(quotes) if (found := _call(quote))]
    if len(stands) < 2:
        return ""
    verb = "waited" if "logs.only-echoes" in seen else "stood"
    parts = [
        say(f"story.{verb}.{'next' if number else 'first'}", rank=_rank(quote, say), call=call, place=place)
        for number, (quote, (call, place)) in enumerate(stands[:3])
    ]
    return say(f"story.{verb}", parts=", ".join(parts))


def _same_call(quotes: tuple[Quote, ...], _: dict[str, Observation], say: Say) -> str:
    found = _call(quotes[0])
    return say("story.same-call", call=found[0], place=found[1]) if found else ""


def _steps_differ(quotes: tuple[Quote, ...], _: dict[str, Observation], say: Say) -> str:
    return "" if len(quotes) < 2 else _last_lines("story.steps-differ", quotes[0], quotes[1], say)


def _last_lines(key: str, one: Quote, other: Quote, say: Say) -> str:
    """Hold the last line of one rank beside that of another."""
    lines = {"line": _message(one), "last": _message(other)}
    return say(key, rank=_rank(one, say), other=_rank(other, say), **lines)


def _frozen(quotes: tuple[Quote, ...], _: dict[str, Observation], say: Say) -> str:
    last = max(quotes, key=lambda quote: quote.time or 0.0)
    return say("story.frozen", rank=_rank(last, say), at=_at(last, say), line=_message(last))


def _stopped_apart(quotes: tuple[Quote, ...], _: dict[str, Observation], say: Say) -> str:
    return _last_lines("story.stopped-apart", quotes[0], quotes[-1], say)


def _never_joined(quotes: tuple[Quote, ...], _: dict[str, Observation], say: Say) -> str:
    return say("story.never-joined", count=len(quotes), line=_message(quotes[-1]))


_RAISES = re.compile(r"\s{0,80}(?:\S{1,40}\s{1,4})?raise\b")
"""A line of code in a traceback, which names the error that is told below it."""
_SENTENCES: dict[str, Sentence] = {
    "logs.one-rank-failed-first": _failed_first,
    "logs.same-error-on-every-rank": _same_error,
    "logs.exception-in-user-code": _own_error,
    "logs.rank-finished-early": _finished_early,
    "logs.rank-still-working": _still_working,
    "logs.ranks-in-different-calls": _different_calls,
}
"""Findings that tell a course of events, the most telling first."""
_ENDS: dict[str, Sentence] = {
    "logs.ranks-in-same-call": _same_call,
    "logs.last-step-differs": _steps_differ,
    "run.stopped-apart": _stopped_apart,
    "run.never-joined": _never_joined,
    "logs.frozen-without-error": _frozen,
}
"""Findings that tell only where the output ends: where the ranks stood tells more."""


def _stood(ranks: Iterable[RankState], say: Say) -> str:
    """Tell where the ranks stood, where that is all that is known and it is not one place."""
    places: dict[str, list[int]] = {}
    for rank in ranks:
        if rank.place and rank.state in {"waits", "works"}:
            places.setdefault(rank.place, []).append(rank.rank)
    if not 1 < len(places) <= _MOST_PLACES:
        return ""
    parts: list[str] = []
    for place, there in sorted(places.items(), key=lambda item: item[1]):
        call, _, line = clean(place).rpartition(" (")
        who = say("roll.ranks" if len(there) > 1 else "report.rank", rank=listed(there, _RANKS))
        key = f"story.stood.{'next' if parts else 'first' if len(there) == 1 else 'several'}"
        parts.append(say(key, rank=who, call=f"`{_inside(call, _CALL)}`", place=line.rstrip(")")))
    return say("story.stood", parts=", ".join(parts))


def _first_error(evidence: Evidence, meanings: Meanings, say: Say) -> str:
    """Tell the first error, where no finding says more, or what the numbers show where nothing printed one.

    Words of the user's own report are not told back.
    """
    failures = [o for o in meanings.exact(evidence.observations) if o.source == "log" and meanings.is_primary(o)]
    shown = [o for o in failures if meanings.kind(o.id) == "line"]
    if failures and not shown:
        return meanings.seen(failures[0], say)
    itself = [quote for o in shown for quote in o.quotes]
    quotes = [quote for quote in (*evidence.notes[:1], *itself) if quote.path is not None]
    first = next((quote for quote in quotes if _ERROR.match(message(quote))), next(iter(itself), None))
    if first is None:
        return ""
    before = (
        q for q in itself if q.path == first.path and (q.line or 0) < (first.line or 0) and not _RAISES.match(q.text)
    )
    first = min(before, key=lambda quote: quote.line or 0, default=first)
    ended = _ENDED.search(first.text)
    if ended:
        return say("story.launcher-ended", at=_at(first, say), signal=next(filter(None, ended.groups())))
    key = "story.first-error" if first.rank is None else "story.first-error-rank"
    return say(key, rank=_rank(first, say), at=_at(first, say), error=_error(first))


def _rank(quote: Quote, say: Say) -> str:
    return say("story.a-rank") if quote.rank is None else say("report.rank", rank=quote.rank)


def _ranks(quotes: Iterable[Quote]) -> list[int]:
    return sorted({quote.rank for quote in quotes if quote.rank is not None})


def _listed(ranks: list[int], say: Say) -> str:
    *most, last = map(str, ranks)
    return say("story.ranks", first=", ".join(most), last=last)


def _at(quote: Quote, say: Say) -> str:
    """Return the time of a quote as it goes into a sentence; `_NOTHING` where it is not known."""
    if quote.time is None:
        return _NOTHING
    return say("story.at" if exact(quote) else "story.about", time=clock(quote.time))


def _error(quote: Quote) -> str:
    """Return an error without marks of its rank, places of C++ sources and its second sentence."""
    text = _CPP_PLACE.sub("", unmarked(readable(quote.text)))
    sentence = re.match(r".{20,}?[a-z)]\.(?=\s+[A-Z])", text)
    return _inside(sentence[0] if sentence else text, _MESSAGE)


def message(quote: Quote) -> str:
    """Return what a line says, without the marks, time and level before it and without places of C++ sources."""
    text = _CPP_PLACE.sub("", unmarked(readable(quote.text)))
    return _HEAD.sub("", text) or text


def _message(quote: Quote) -> str:
    return _inside(message(quote), _LINE)


def _inside(text: str, columns: int) -> str:
    """Return log text for use inside a sentence: short, and without the stop that the sentence brings itself."""
    return cut(text.strip(), columns).rstrip(".:([{, ").replace("`", "'") if text else text


def _by_rank(quotes: Iterable[Quote]) -> list[Quote]:
    return sorted(quotes, key=lambda quote: -1 if quote.rank is None else quote.rank)


def _call(quote: Quote) -> tuple[str, str] | None:
    """Return the call and `file:line` of a frame of the user's code."""
    frame = _FRAME.match(clean(quote.text))
    if frame is None:
        return None
    code = frame["code"].split("  #")[0].strip()
    file = re.split(r"[/\\]", frame["path"])[-1]
    return f"`{_inside(code, _CALL)}`", f"{file}:{frame['line']}"


def _stands(rank: int | None, observations: Iterable[Observation]) -> tuple[str, str] | None:
    """Return where a rank stands, as one of its frames says."""
    for observation in observations:
        for quote in observation.quotes:
            if quote.rank == rank and quote.rank is not None and (found := _call(quote)):
                return found
    return None
