"""Families of entries: a page that introduces each, and one that holds all of its entries for the printer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from distkb.catalogue.records import Language
from distkb.docsite import views
from distkb.docsite.diagrams import keeps
from distkb.docsite.site import Page, at, make_page
from distkb.locale import Say

if TYPE_CHECKING:
    from distkb.catalogue.model import Entry
    from distkb.docsite.views import Library

SHARDED = frozenset({"fsdp", "deepspeed", "memory"})
"""Families whose entries turn on what each rank keeps."""


def address(family: str) -> str:
    """Return the address of a family's page below its language."""
    return f"families/{family}.html"


def print_address(family: str) -> str:
    """Return the address of the page that holds all entries of a family."""
    return f"families/{family}-print.html"


def pages(library: Library, lang: Language) -> Iterator[Page]:
    """Yield the two pages of each family."""
    say = Say(lang)
    for family, name, members in views.families(library, say):
        about = say(f"site.family.{family}")
        values = {
            "heading": name,
            "about": about,
            "members": [_member(one, library, lang, address(family)) for one in members],
            "print": print_address(family),
            "keeps": keeps("keeps", say) if family in SHARDED else "",
        }
        yield make_page(lang, address(family), "family", name, about, values)
        where = print_address(family)
        write = at(library, lang, where)
        whole = {
            "heading": name,
            "about": about,
            "family": address(family),
            "entries": [views.entry(one, library, write, say, drawn=f"drawn-{one.id}") for one in members],
        }
        yield make_page(lang, where, "print", say("site.print.title", family=name), about, whole)


def _member(shown: Entry, library: Library, lang: Language, where: str) -> dict[str, Any]:
    """Return an entry as a family's page lists it."""
    say = Say(lang)
    write = at(library, lang, where)
    return {
        "id": shown.id,
        "title": write.code_only(say.text(shown.title)),
        "summary": write.inline(say.text(shown.summary)),
    }
