"""The search page, and the names that the search shows: entries, settings, terms, guides and incidents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from distkb.catalogue.records import LANGUAGES, Language
from distkb.docsite import incidents, messages, views
from distkb.docsite.scripts import script
from distkb.docsite.site import Page, named, settings_address
from distkb.locale import Say

if TYPE_CHECKING:
    from distkb.docsite.views import Library

SAID = (
    "none",
    "all",
    "lines",
    "entries",
    "settings",
    "terms",
    "texts",
    "by-line",
    "by-id",
    "by-words",
    "by-meaning",
)
"""Words around the results: the names of the groups, and why a result was found."""


def pages(_: Library, lang: Language) -> Iterator[Page]:
    """Yield the page that shows what was found for the words in its address."""
    yield named(lang, "search", {})


def scripts(library: Library) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of the script of names in each language."""
    for lang in LANGUAGES:
        say = Say(lang)
        yield f"search-names-{lang}.js", script("searchNames", names(library, say))
        yield f"search-texts-{lang}.js", script("searchTexts", texts(library, say))
        yield f"messages-{lang}.js", script("messages", messages.told(library, say))


def texts(library: Library, say: Say) -> list[str]:
    """Return how each entry begins, which a page of results shows below its title."""
    return [_plain(views.opening(say.text(one.summary))[0]) for one in library.entries]


def names(library: Library, say: Say) -> dict[str, Any]:
    """Return what results show.

    `entries`: titles, in the order of the catalogue. `places`: of each place of settings its name, its address, and
    each setting's name, with its id where that is not the name. `terms`: by id, the term in this language and in the
    other. `texts`: id, title, address, and the title in both languages, of what is read from beginning to end.
    `said`: the words around the results.
    """
    other = Say("en" if say.lang == "ko" else "ko")
    texts = [(guide.id, guide.title, f"guides/{guide.id}.html") for guide in library.guides]
    texts += [
        (found.incident.id, found.incident.title, incidents.address(found.incident.id)) for found in library.incidents
    ]
    places: dict[str, list[list[str]]] = {}
    for one in library.catalogue.settings:
        places.setdefault(one.place, []).append([one.name] if one.id == one.name else [one.name, one.id])
    return {
        "said": {
            "count": say("site.search.count", n="{n}"),
            **{key: say(f"site.search.{key}", words="{words}") for key in SAID},
        },
        "entries": [_plain(say.text(one.title)) for one in library.entries],
        "places": [
            [
                say("site.settings.environment") if place == "environment" else place,
                settings_address(place),
                *(name if len(name) > 1 else name[0] for name in listed),
            ]
            for place, listed in places.items()
        ],
        "terms": {term.id: [say.text(term.term), other.text(term.term)] for term in library.catalogue.terms},
        "texts": [
            [identity, _plain(say.text(title)), where, f"{title.en} {title.ko}"] for identity, title, where in texts
        ],
    }


def _plain(text: str) -> str:
    """Return a text without the marks of code."""
    return text.replace("`", "")
