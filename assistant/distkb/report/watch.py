"""What `distkb watch` says: one line for what happens, and the rank and its line first when a job has stalled."""

from __future__ import annotations

from distkb.locale import Say
from distkb.report.layout import clean, cut
from distkb.report.page import Ink, Page, plain
from distkb.watching.event import Event
from distkb.watching.verdict import JobVerdict, StandingRanks

_PLACES_SHOWN = 6
_LINES = {"failed": "watch.failed", "killed": "watch.killed", "ended": "watch.ended"}


def line(event: Event, say: Say) -> str:
    """Return what happened in one line; empty for what has a page of its own."""
    values = {
        "silence": duration(event.silence_s, say),
        "limit": duration(event.limit_s, say),
        "line": cut(clean(event.line.strip()), 120),
        "name": clean(event.name),
        "pids": " ".join(map(str, event.pids[:16])),
    }
    if event.kind == "found":
        return say.count("watch.found", len(event.pids), **values)
    if event.kind == "slow" and event.verdict is not None:
        return say("watch.slow", places=_places(event.verdict, say), **values)
    if event.kind == "goes-on":
        return say("watch.goes-on-line" if event.line else "watch.goes-on", **values)
    return say(_LINES[event.kind], **values) if event.kind in _LINES else ""


def stalled(event: Event, say: Say, columns: int = 80, ink: Ink = plain) -> str:
    """Return the page of a stall: which rank stands at which line, the others, and for how long."""
    verdict = event.verdict or JobVerdict(outcome="blind")
    page = Page(columns, ink)
    told = say("watch.stalled", places=_places(verdict, say), silence=duration(event.silence_s, say))
    page.title(told[:1].upper() + told[1:])
    for place in verdict.places[:_PLACES_SHOWN]:
        page.blank()
        mark = "✗" if place.odd or place.stopped else "·"
        page.item(mark, _sentence(place, say), "", "bad" if mark == "✗" else None)
        page.paragraph(_about(place, say), "    ", "faint")
        if place.path:
            page.line(clean(f"{place.path}:{place.at.rpartition(':')[2]}" if ":" in place.at else place.path), "    ")
        if place.source:
            page.line("| " + cut(clean(place.source), columns - 8), "      ", "faint")
    page.blank()
    if verdict.outcome == "slow":
        page.paragraph(say("watch.works"), "")
    page.paragraph(say("watch.limit", limit=duration(event.limit_s, say)), "", "faint")
    if not event.logs:
        page.paragraph(say("watch.no-logs"), "", "faint")
    return page.text()


def kept(bundle: str, answer: str, say: Say) -> str:
    """Say where everything is."""
    return say("watch.kept", bundle=clean(bundle), answer=clean(answer))


def duration(seconds: float, say: Say) -> str:
    """Return a time as people say it: `45 s`, `6 min 12 s`, `2 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return say("watch.seconds", s=whole)
    if whole < 3600:
        return say("watch.minutes", m=whole // 60, s=whole % 60)
    return say("watch.hours", h=whole // 3600, m=whole % 3600 // 60)


def _places(verdict: JobVerdict, say: Say) -> str:
    parts = [_sentence(place, say) for place in verdict.places[:3]]
    for key, ranks in (("watch.halted", verdict.halted), ("watch.missing", verdict.missing)):
        if ranks:
            parts.insert(0, say(key, ranks=clean(ranks)))
    if not parts:
        reason = f"probe.reason.{verdict.reason}"
        detail = clean(verdict.reason)
        parts = [say(reason, detail=detail) if say.knows(reason) else say("watch.blind", detail=detail)]
    if verdict.unread:
        parts.append(say("watch.unread", ranks=clean(verdict.unread)))
    return "; ".join(parts)


def _sentence(place: StandingRanks, say: Say) -> str:
    call = clean(place.call) or say(f"probe.stacks.kind.{place.kind}")
    values = {"ranks": clean(place.ranks), "call": call, "at": clean(place.at)}
    if place.at == "?":
        return say("watch.somewhere", **values)
    if place.below and not place.stopped:
        return say("watch.below", **values, worker=clean(place.below_call), there=clean(place.below))
    return say.count("watch.stopped" if place.stopped else "watch.stands", place.n, **values)


def _about(place: StandingRanks, say: Say) -> str:
    """Return what a place is about, and how busy its ranks are."""
    kind = say(f"probe.stacks.kind.{place.kind}")
    return kind if place.cores is None else say("watch.cores", kind=kind, cores=f"{place.cores:.1f}")
