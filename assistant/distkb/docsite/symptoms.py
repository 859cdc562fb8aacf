"""The index by symptom: a section for each, and for every entry what it can be filtered by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from distkb.catalogue.model import PROBABILITY, Entry
from distkb.catalogue.records import Language
from distkb.docsite import views
from distkb.docsite.site import Page, named
from distkb.locale import Say

if TYPE_CHECKING:
    from distkb.docsite.views import Library

STATED = 0.5
"""What a cause shows at least this often, its entry can be filtered by."""

SOMETIMES = 0.2
"""The same for lines of a backend: most failures print one only where it is used."""

BACKENDS = {"nccl": ("nccl.", "torch.nccl."), "gloo": ("gloo.",)}
"""Beginnings of the ids of the lines that a backend prints."""

FACETS = ("area", "symptom", "backend", "launcher", "status")


def pages(library: Library, lang: Language) -> Iterator[Page]:
    """Yield the page."""
    say = Say(lang)
    ways = views.symptoms(library, say)
    listed = {entry.id for way in ways for entry in way["entries"]}
    rest = [entry for entry in library.entries if entry.id not in listed]
    if rest:
        ways.append({"id": "other", "label": say("site.symptoms.other"), "entries": rest})
    of = {entry.id: _facets(entry, ways) for entry in library.entries}
    values = {"ways": ways, "of": of, "facets": list(_choices(library, ways, of.values(), say))}
    yield named(lang, "symptoms", values)


def _facets(shown: Entry, ways: Iterable[dict[str, Any]]) -> dict[str, str]:
    """Return, for each facet, the values that an entry has, with blanks between them."""
    said = {e.observation: PROBABILITY[e.likelihood] for cause in shown.causes for e in cause.cues}
    backends = [
        name
        for name, beginnings in BACKENDS.items()
        if any(o.startswith(beginnings) and p >= SOMETIMES for o, p in said.items())
    ]
    launchers = sorted(o.partition("=")[2] for o, p in said.items() if o.startswith("launcher=") and p >= STATED)
    return {
        "area": shown.family,
        "symptom": " ".join(way["id"] for way in ways if shown in way["entries"]),
        "backend": " ".join(backends),
        "launcher": " ".join(launchers),
        "status": shown.status,
    }


def _choices(
    library: Library, ways: Iterable[dict[str, Any]], given: Iterable[dict[str, str]], say: Say
) -> Iterator[tuple[str, str, list[tuple[str, str]]]]:
    """Yield name, words and choices of each facet that tells entries apart."""
    launcher = next((fact for fact in library.catalogue.facts if fact.id == "launcher"), None)
    words: dict[str, dict[str, str]] = {
        "area": {family: name for family, name, _ in views.families(library, say)},
        "symptom": {way["id"]: way["label"] for way in ways},
        "backend": {"nccl": "NCCL", "gloo": "gloo"},
        "launcher": {value.value: say.text(value.label) for value in launcher.values} if launcher else {},
        "status": {status: say(f"status.{status}") for status in ("draft", "reviewed", "stable")},
    }
    given = list(given)
    for facet in FACETS:
        used = {value for one in given for value in one[facet].split()}
        choices = [(value, word) for value, word in words[facet].items() if value in used]
        if len(choices) > 1:
            yield facet, say(f"site.facet.{facet}"), choices
