"""What programs read: the catalogue and its messages as JSON, and a guide to both for language models."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from distkb import __version__
from distkb.docsite import messages
from distkb.docsite.site import entry_address, named_address
from distkb.locale import LANGUAGES, Say
from distkb.report.json import both

if TYPE_CHECKING:
    from distkb.catalogue.model import Entry
    from distkb.catalogue.records import Language
    from distkb.docsite.views import Library

LICENCE = "Apache-2.0"
RECENT = 40
"""Entries in a feed."""


def files(library: Library, base: str) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of each file; addresses in them are below `base`, relative where it is empty."""
    yield "catalogue.json", _json({"entries": list(_entries(library))}, base)
    yield "messages.json", _json({"messages": list(_messages(library))}, base)
    yield "llms.txt", _guide(library, base).encode()
    if base:
        for lang in LANGUAGES:
            yield f"{lang}/feed.xml", _feed(library, lang, base).encode()


def newest(library: Library) -> str:
    """Return the day on which a source of the catalogue was read last."""
    return max((one.accessed for entry in library.entries for one in entry.references), default="")


def changed(entry: Entry) -> str:
    """Return the day on which the sources of an entry were read last; empty where it has none."""
    return max((one.accessed for one in entry.references), default="")


def _feed(library: Library, lang: Language, base: str) -> str:
    """Return what changed last as Atom: the entries whose sources were read anew, the newest first."""
    say = Say(lang)
    dated = [(changed(entry), entry) for entry in library.entries if changed(entry)]
    dated.sort(key=lambda pair: pair[0], reverse=True)
    home = f"{base}{lang}/"
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="{lang}">',
        f"<title>{html.escape(say('site.feed'))}</title><id>{home}</id>",
        f'<link href="{home}"/><link rel="self" href="{home}feed.xml"/>',
        f"<updated>{newest(library)}T00:00:00Z</updated><author><name>distkb</name></author>",
    ]
    for day, entry in dated[:RECENT]:
        address = f"{base}{lang}/{entry_address(entry.id)}"
        lines.append(
            f"<entry><title>{html.escape(f'{entry.id} {say.text(entry.title)}')}</title><id>{address}</id>"
            f'<link href="{address}"/><updated>{day}T00:00:00Z</updated>'
            f"<summary>{html.escape(say.text(entry.summary))}</summary></entry>"
        )
    return "\n".join([*lines, "</feed>", ""])


def _json(value: dict[str, Any], base: str) -> bytes:
    told = {"version": __version__, "licence": LICENCE, "base": base, **value}
    return (json.dumps(told, ensure_ascii=False, separators=(",", ":")) + "\n").encode()


def _pages(address: str) -> dict[str, str]:
    return {lang: f"{lang}/{address}" for lang in LANGUAGES}


def _entries(library: Library) -> Iterator[dict[str, Any]]:
    for entry in library.entries:
        yield {
            "id": entry.id,
            "family": entry.family,
            "title": both(entry.title),
            "summary": both(entry.summary),
            "pages": _pages(entry_address(entry.id)),
            "causes": [
                {
                    "id": cause.id,
                    "title": both(cause.title),
                    "prior": cause.prior,
                    "pages": _pages(named_address(cause.id)),
                    "fixes": [{"id": fix.id, "title": both(fix.title)} for fix in cause.fixes],
                }
                for cause in entry.causes
            ],
        }


def _messages(library: Library) -> Iterator[dict[str, Any]]:
    for identity, line in messages.lines(library).items():
        signature = line.signature
        yield {
            "id": identity,
            "pattern": signature.pattern,
            "example": signature.example,
            "role": signature.role,
            "printed_by": signature.printed_by,
            "means": both(signature.means),
            "causes": [cause.id for _, cause in line.causes],
            "pages": _pages(messages.address(identity)),
        }


def _guide(library: Library, base: str) -> str:
    say = Say("en")
    lines = [
        "# distkb",
        "",
        f"> {say('site.about.what.text', entries=len(library.entries))}",
        "",
        f"- [catalogue.json]({base}catalogue.json): {say('site.llms.catalogue')}",
        f"- [messages.json]({base}messages.json): {say('site.llms.messages')}",
        f"- [ko/index.html]({base}ko/index.html): {say('site.llms.korean')}",
        "",
        f"## {say('site.home.all')}",
        "",
    ]
    lines += [f"- [{one.id} {say.text(one.title)}]({base}en/{entry_address(one.id)})" for one in library.entries]
    return "\n".join([*lines, ""])
