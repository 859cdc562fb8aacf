"""Incidents as pages: the course of events drawn, what it could have been, what spoke for it, and what it was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from distkb.catalogue.incident import Hypothesis, Incident, Moment, StoredIncident, Variant
from distkb.catalogue.records import Language
from distkb.docsite.diagrams import timeline, when, who
from distkb.docsite.site import Page, at, make_page, named_address
from distkb.locale import Say

if TYPE_CHECKING:
    from distkb.docsite.text import Writer
    from distkb.docsite.views import Library


def address(identity: str) -> str:
    """Return the address of an incident's page below its language."""
    return f"incidents/{identity}.html"


def listed(library: Library, say: Say) -> list[tuple[str, str, str]]:
    """Return address, id and title of every incident."""
    return [
        (address(found.incident.id), found.incident.id, say.text(found.incident.title)) for found in library.incidents
    ]


def pages(library: Library, lang: Language) -> Iterator[Page]:
    """Yield a page for each incident."""
    say = Say(lang)
    for found in library.incidents:
        one = found.incident
        where = address(one.id)
        values = _values(found, library, at(library, lang, where), say)
        yield make_page(lang, where, "incident", f"{one.id} {say.text(one.title)}", say.text(one.summary), values)


def _values(found: StoredIncident, library: Library, write: Writer, say: Say) -> dict[str, Any]:
    one = found.incident
    return {
        "incident": one,
        "summary": write.paragraphs(say.text(one.summary)),
        "course_of": _course("drawn", one.timeline, one, one.differs, write, say),
        "hypotheses": _hypotheses(one.hypotheses, (one.answer,), library, write, say),
        "variants": [_variant(variant, found, library, write, say) for variant in one.variants],
        "outcome": write.paragraphs(say.text(one.outcome)),
        "steps": _steps(one.answer, library, write, say),
        "logs": f"distkb diagnose kb/incidents/{found.directory.name}/logs",
    }


def _variant(variant: Variant, found: StoredIncident, library: Library, write: Writer, say: Say) -> dict[str, Any]:
    return {
        "id": variant.id,
        "title": write.inline(say.text(variant.title)),
        "plain_title": say.text(variant.title).replace("`", ""),
        "course": _course(f"drawn-{variant.id}", variant.timeline, found.incident, variant.differs, write, say),
        "hypotheses": _hypotheses(variant.hypotheses, (variant.answer, *variant.also), library, write, say),
        "outcome": write.paragraphs(say.text(variant.outcome)),
        "steps": _steps(variant.answer, library, write, say),
        "logs": f"distkb diagnose kb/incidents/{found.directory.name}/logs/{variant.id}",
    }


def _course(
    name: str, moments: Sequence[Moment], incident: Incident, differs: int | None, write: Writer, say: Say
) -> dict[str, Any]:
    """Return a course of events: drawn where ranks take part one by one, and always as a list."""
    title = say("site.incident.course", title=say.text(incident.title))
    ranks = incident.recorded.nproc
    drawn = any(moment.rank is not None for moment in moments)
    return {
        "drawing": timeline(name, moments, ranks, differs, title, say) if drawn else "",
        "moments": [
            (when(moment, say), who(moment.rank, say), moment.rank == differs and differs is not None, what)
            for moment in moments
            for what in [write.inline(say.text(moment.what))]
        ],
    }


def _hypotheses(
    hypotheses: Sequence[Hypothesis], answers: Sequence[str | None], library: Library, write: Writer, say: Say
) -> list[dict[str, Any]]:
    """Return what was considered in the order in which it was likely, what it was marked."""
    return [
        {
            "link": write.link(one.cause),
            "title": write.inline(library.meanings.title(one.cause, say)),
            "answer": one.cause in answers,
            "evidence": [
                (sign, [write.inline(say.text(text)) for text in texts])
                for sign, texts in (("for", one.speaks_for), ("against", one.speaks_against))
                if texts
            ],
        }
        for one in hypotheses
    ]


def _steps(answer: str | None, library: Library, write: Writer, say: Say) -> list[tuple[str, str, str]]:
    """Return the fixes of the cause that it was, each with its address and what shows that it worked."""
    for entry in library.entries:
        for cause in entry.causes:
            if cause.id == answer:
                return [
                    (
                        named_address(fix.id),
                        write.code_only(say.text(fix.title)),
                        write.inline(say.text(fix.verify)),
                    )
                    for fix in cause.fixes
                ]
    return []
