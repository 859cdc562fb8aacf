"""Printed lines: a page for each, with whose line it is, what causes it and the fix, and an index by their meaning."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from distkb.catalogue.model import PRIOR_WEIGHT, PROBABILITY, Cause, Cue, Entry, Signature
from distkb.catalogue.records import Language
from distkb.docsite import views
from distkb.docsite.site import Page, at, cut, make_page
from distkb.locale import Say
from distkb.report.signs import TELLS, SignsRow, command, usual

if TYPE_CHECKING:
    from distkb.docsite.text import Writer
    from distkb.docsite.views import Library
    from distkb.report.meaning import Meanings

CAUSES = 5
"""Causes that the page of a line tells apart."""
NEAR = 3
"""Other lines that a page links to."""
FIRST = 6
"""Lines of each group on the first page of the index."""
WIDTH = 120
"""Characters of a line that the index shows."""
SHORT = 8
"""A line that has fewer characters without what stands before it keeps that."""

_BEFORE = re.compile(
    r"""\s+ | -\s+
    | \[rank\s*=?\s*\d+\]:? | \[(?:default|deepspeed)\](?=\s)
    | \[\s*\d+\.\d+\]\s | \[[EWIF]\d{0,4}\s[^\]]*\]
    | \[?\d{4}-\d\d-\d\d[T\s][\d:.,]+Z?\]?,?
    | \[?(?:INFO|WARNING|ERROR|info|warning|error)\]?:?(?=\s)
    | \[[\w.]+\.py:\d+:?\w*\] | [\w.-]+:\d+:\d+\s\[\d+\] | \[[\w-]+:\d+\s+:\d+:\d+\]
    | (?:traceback|rank|entrypoint)\s+:(?=\s)""",
    re.VERBOSE,
)
"""What loggers and launchers put before a line: blanks, ranks, dates, levels, places in source files."""


def plain(line: str) -> str:
    """Return a printed line without what a logger put before it."""
    rest = line.strip()
    while match := _BEFORE.match(rest):
        if len(rest) - match.end() < SHORT:
            break
        rest = rest[match.end() :].lstrip()
    return rest


@dataclass(frozen=True)
class PrintedLine:
    """A printed line with the causes that print it, the likeliest first."""

    signature: Signature
    text: str
    """What stands after the logger's prefix."""
    causes: tuple[tuple[Entry, Cause], ...]

    @property
    def group(self) -> str:
        """Family of the likeliest entry that prints it; `rest` where no entry speaks of it."""
        return self.causes[0][0].family if self.causes else "rest"


def address(identity: str) -> str:
    """Return the address of a line's page below its language."""
    return f"m/{identity}.html"


def group_address(group: str) -> str:
    """Return the address of the index of one group."""
    return f"errors-{group}.html"


@lru_cache(maxsize=2)
def lines(library: Library) -> dict[str, PrintedLine]:
    """Return every line that has a page, by the id of its signature, in order of the text."""
    owners = {cause.id: (entry, cause) for entry in library.entries for cause in entry.causes}
    speaking: dict[str, dict[str, float]] = {}

    def note(observation: str, cause: str, likelihood: Any) -> None:
        evidence = Cue(observation=observation, likelihood=likelihood)
        if cause in owners and library.meanings.lift(evidence) >= TELLS:
            weight = PROBABILITY[evidence.likelihood] * PRIOR_WEIGHT[owners[cause][1].prior]
            held = speaking.setdefault(observation, {})
            held[cause] = max(weight, held.get(cause, 0.0))

    for cause, (_, one) in owners.items():
        for evidence in one.cues:
            note(evidence.observation, cause, evidence.likelihood)
    own: dict[str, Entry] = {}
    for entry in library.entries:
        for signature in entry.signatures:
            own.setdefault(signature.id, entry)
    found: list[PrintedLine] = []
    for signature in library.catalogue.signatures:
        if not signature.example or "log" not in signature.where:
            continue
        for word, causes in signature.given.items():
            for cause in (name for name in causes if "=" not in name):
                note(signature.id, cause, word)
        held = speaking.get(signature.id, {})
        ranked = [owners[cause] for cause in sorted(held, key=lambda one: (-held[one], one))]
        if not ranked and signature.id in own:
            ranked = [(own[signature.id], cause) for cause in own[signature.id].causes]
        found.append(PrintedLine(signature, plain(signature.example), tuple(ranked)))
    return {one.signature.id: one for one in sorted(found, key=lambda one: (one.text.lower(), one.signature.id))}


def pages(library: Library, lang: Language) -> Iterator[Page]:
    """Yield the index, the index of each group, and the page of each line."""
    say = Say(lang)
    known = lines(library)
    groups: dict[str, list[PrintedLine]] = {}
    for one in known.values():
        groups.setdefault(one.group, []).append(one)
    order = [family for family, _, _ in views.families(library, say)] + ["rest"]
    names = {family: name for family, name, _ in views.families(library, say)} | {"rest": say("site.errors.rest")}
    places = [(names[name], group_address(name), len(groups[name])) for name in order if name in groups]
    whole = {"places": places, "total": len(known)}
    write = at(library, lang, "errors.html")
    shown = [name for name in order if name in groups]

    def part(name: str, some: Sequence[PrintedLine]) -> tuple[str, str, int, list[dict[str, str]]]:
        return names[name], group_address(name), len(groups[name]), [_listed(one, write, say) for one in some]

    lead = say("site.errors.lead")
    parts = [part(name, _first(groups[name])) for name in shown]
    title = say("site.errors.title")
    yield make_page(lang, "errors.html", "errors", title, lead, whole | {"parts": parts, "heading": title})
    for name in shown:
        heading = say("site.errors.of", place=names[name])
        values = whole | {"parts": [part(name, groups[name])], "heading": heading}
        yield make_page(lang, group_address(name), "errors", heading, lead, values)
    for identity, one in known.items():
        where = address(identity)
        values = _values(one, library, at(library, lang, where), say)
        crumbs = ((say("site.errors"), "errors.html"), (names[one.group], group_address(one.group)))
        means = say.text(one.signature.means)
        yield make_page(lang, where, "message", one.text, f"{means} {values['about']}", values | {"crumbs": crumbs})


def shown(library: Library) -> dict[str, str]:
    """Return the text of every line that has a page, as lists show it, by id."""
    return {identity: cut(one.text, WIDTH) for identity, one in lines(library).items()}


def told(library: Library, say: Say) -> list[list[str]]:
    """Return id, text and meaning of every line, for the scripts that search among them."""
    return [
        [identity, text, say.text(lines(library)[identity].signature.means).replace("`", "")]
        for identity, text in shown(library).items()
    ]


def _first(group: Sequence[PrintedLine]) -> list[PrintedLine]:
    """Return the lines of a group that stand on the first page: those of the most causes."""
    return sorted(group, key=lambda one: (-len(one.causes), one.text.lower()))[:FIRST]


def _listed(one: PrintedLine, write: Writer, say: Say) -> dict[str, str]:
    return {
        "id": one.signature.id,
        "text": cut(one.text, WIDTH),
        "address": address(one.signature.id),
        "means": write.inline(say.text(one.signature.means)),
        "role": say(f"site.role.{one.signature.role}"),
    }


def _values(one: PrintedLine, library: Library, write: Writer, say: Say) -> dict[str, Any]:
    signature = one.signature
    chosen = one.causes[:CAUSES]
    beside = [cause for _, cause in chosen]
    versions = [views.version(version, say) for version in signature.seen_in]
    first = chosen[0] if chosen else None
    fix = next(iter(first[1].fixes), None) if first else None
    return {
        "line": one.text,
        "signature": signature,
        "means": write.inline(say.text(signature.means)),
        "role": say(f"site.role.{signature.role}"),
        "whose": say(f"site.message.{signature.role}", printer=say(f"site.printer.{signature.printed_by}")),
        "versions": ", ".join(versions),
        "rows": [views.row(one, library, write, say) for one in _apart(beside, signature.id, library.meanings)],
        "more": len(one.causes) - len(chosen),
        "fix": views.fix_of(fix, write, say) if fix else None,
        "first": write.link(first[1].id) if first else "",
        "near": [(address(other.signature.id), cut(other.text, WIDTH)) for other in _near(library)[signature.id]],
        "about": say("site.message.about", n=len(one.causes)) if one.causes else "",
        "modified": max((r.accessed for entry, _ in chosen for r in entry.references), default=""),
    }


def _apart(causes: Sequence[Cause], line: str, meanings: Meanings) -> Iterator[SignsRow]:
    """Yield each cause with what tells it apart from the others beside the line: something of its own where it can."""
    used = {line}
    for cause in causes:
        ranked = sorted(usual(cause, meanings, causes), key=used.__contains__)
        telling = next((o for o in ranked if meanings.kind(o) != "said" and o not in used), None)
        telling = telling or next((o for o in ranked if o != line), None)
        used |= {telling} if telling else set()
        fix = next(iter(cause.fixes), None)
        yield SignsRow(cause=cause, seen=line, checked=telling, command=command(telling, meanings), fix=fix)


@lru_cache(maxsize=2)
def _near(library: Library) -> dict[str, list[PrintedLine]]:
    """Return, by id, lines that repeat each line, or come of the same causes."""
    known = lines(library)
    causes = {identity: {cause.id for _, cause in one.causes[:CAUSES]} for identity, one in known.items()}

    def worth(one: str, other: str) -> tuple[bool, int]:
        group = known[one].signature.group
        return group is not None and group == known[other].signature.group, len(causes[one] & causes[other])

    out = {}
    for one in known:
        found = [(worth(one, other), other) for other in known if other != one]
        ranked = sorted((pair for pair in found if any(pair[0])), reverse=True)
        out[one] = [known[other] for _, other in ranked[:NEAR]]
    return out
