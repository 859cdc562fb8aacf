"""What the site is made of: addresses of pages, and how to get from one to another."""

from __future__ import annotations

import html
import posixpath
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from distkb.catalogue.records import Language
from distkb.docsite.text import Writer
from distkb.locale import Say

if TYPE_CHECKING:
    from distkb.docsite.views import Library

TITLE = 60
"""Characters of a title that search engines show."""
WRITTEN = 70
"""Characters of a title as it is written in HTML."""
DESCRIPTION = 155
"""Characters of a description that search engines show."""


@lru_cache(maxsize=65_536)
def _relative(target: str, folder: str) -> str:
    return posixpath.relpath(target, folder)


@dataclass(frozen=True)
class Page:
    """One page in one language."""

    address: str
    """Path below the folder of its language, the same in both: `e/D21.html`."""
    lang: Language
    template: str
    title: str
    description: str
    values: dict[str, Any]
    root: str = ""
    """Address of the site's root, where the page is shown at any depth, as that of a missing page is."""

    @property
    def heading(self) -> str:
        """The title as HTML: quotes mean nothing there, and would count as six characters each."""
        return html.escape(self.title, quote=False)

    @property
    def path(self) -> str:
        """Path below the root of the site."""
        return f"{self.lang}/{self.address}"

    def to(self, path: str) -> str:
        """Return the relative address of a path of the site, which may carry a fragment, from this page."""
        target, mark, fragment = path.partition("#")
        if self.root:
            return self.root + path
        if target == self.path or not target:
            return f"#{fragment}" if mark else posixpath.basename(self.path)
        return _relative(target, posixpath.dirname(self.path)) + mark + fragment

    def near(self, address: str) -> str:
        """Return the relative address of a page in the same language."""
        return self.to(f"{self.lang}/{address}")

    def other(self, lang: Language) -> str:
        """Return the relative address of this page in another language."""
        return self.to(f"{lang}/{self.address}")


def entry_address(identity: str) -> str:
    """Return the address of an entry below its language."""
    return f"e/{identity}.html"


def named_address(identity: str) -> str:
    """Return where an entry, a cause or a fix stands, by its id: the fragment is the id as it is shown."""
    entry, mark, _ = identity.partition(".")
    return entry_address(entry) + (f"#{identity}" if mark else "")


def settings_address(place: str) -> str:
    """Return the address of the page of the settings that are written in a place."""
    return "settings.html" if place == "environment" else f"settings-{place}.html"


def make_page(
    lang: Language, address: str, template: str, title: str, description: str, values: dict[str, Any]
) -> Page:
    """Return a page whose title and description are cut to what search engines show."""
    room = TITLE
    while len(html.escape(cut(title, room), quote=False)) > WRITTEN:
        room -= 1
    return Page(address, lang, template, cut(title, room), cut(description, DESCRIPTION), values)


def named(lang: Language, name: str, values: dict[str, Any]) -> Page:
    """Return the page `<name>.html` from the template of its name; `site.<name>.title` and `.lead` describe it."""
    say = Say(lang)
    return make_page(lang, f"{name}.html", name, say(f"site.{name}.title"), say(f"site.{name}.lead"), values)


def cut(text: str, room: int) -> str:
    """Return a text that fits into `room` characters, cut between words where it does not."""
    words = " ".join(text.replace("`", "").split())
    if len(words) <= room:
        return words
    return words[: room - 1].rsplit(" ", 1)[0].rstrip(",.;:") + "…"


def writer(page: Page, library: Library) -> Writer:
    """Return what writes texts for a page, with links from there to the entries."""

    def href(identity: str) -> str:
        return page.near(named_address(identity))

    return Writer({one.id for one in library.entries}, href)


def at(library: Library, lang: Language, address: str) -> Writer:
    """Return what writes texts for the page at an address."""
    return writer(Page(address, lang, "", "", "", {}), library)
