"""Writes the whole site into a folder: pages in both languages, hashed assets, nothing that changes between builds."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from distkb.catalogue.places import checkout
from distkb.catalogue.records import LANGUAGES, Language, Text
from distkb.docsite import views
from distkb.docsite.markdown import render
from distkb.docsite.site import Page, entry_address
from distkb.docsite.text import Writer
from distkb.docsite.views import Library
from distkb.locale import Say

if TYPE_CHECKING:
    import jinja2

NAV = (
    ("index.html", "site.home"),
    ("symptoms.html", "site.symptoms"),
    ("errors.html", "site.errors"),
    ("settings.html", "site.settings"),
    ("glossary.html", "site.glossary"),
    ("about.html", "site.about"),
)
NAMES = {"en": "English", "ko": "한국어"}
_TITLE = 60
"""Characters of a title that search engines show."""
_DESCRIPTION = 155
MARKER = ".distkb-site"
"""A file that says that a folder was written by this program, and may be replaced by it."""


class NotOursError(ValueError):
    """The folder to write into holds something else."""


def sources() -> Path:
    """Return the folder of templates and assets: the repository's `site`, else the one inside the package."""
    repository = checkout()
    return repository / "site" if repository else Path(__file__).parents[1] / "_site"


def build(library: Library, out: Path, *, base_url: str | None = None) -> int:
    """Write the site into `out` and return the number of pages.

    An existing folder is replaced if an earlier build made it, or if it is empty. Raises NotOursError otherwise.
    """
    files = dict(rendered(library, base_url=base_url))
    if out.exists() and any(out.iterdir()) and not (out / MARKER).is_file():
        raise NotOursError(str(out))
    if out.exists():
        shutil.rmtree(out)
    for path, content in files.items():
        target = out / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return sum(path.endswith(".html") for path in files)


def rendered(library: Library, *, base_url: str | None = None) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of every file of the site."""
    base = f"{base_url.rstrip('/')}/" if base_url else ""
    assets = _assets(sources() / "assets")
    environment = _environment(sources() / "templates")
    yield MARKER, b"written by distkb site build\n"
    yield from assets.values()
    pages = [page for lang in LANGUAGES for page in _pages(library, lang)]
    for page in pages:
        yield page.path, _render(page, library, environment, assets, base).encode()
    root = environment.get_template("root.html.j2").render(asset=lambda name: assets[name][0])
    yield "index.html", root.encode()
    yield "robots.txt", (f"User-agent: *\nAllow: /\n{f'Sitemap: {base}sitemap.xml' if base else ''}").encode()
    if base:
        yield "sitemap.xml", _sitemap(pages, base).encode()


def _assets(folder: Path) -> dict[str, tuple[str, bytes]]:
    """Return, by name, each asset's path with a digest in it, and its content."""
    out = {}
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        digest = hashlib.sha256(content).hexdigest()[:8]
        out[path.name] = (f"assets/{path.stem}.{digest}{path.suffix}", content)
    return out


def _environment(folder: Path) -> jinja2.Environment:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )


def _render(
    page: Page,
    library: Library,
    environment: jinja2.Environment,
    assets: dict[str, tuple[str, bytes]],
    base: str,
) -> str:
    say = Say(page.lang)
    write = _writer(page, library)
    values = {
        "page": page,
        "languages": LANGUAGES,
        "names": NAMES,
        "nav": NAV,
        "base_url": base,
        "known": {one.id for one in library.entries},
        "asset": lambda name: page.to(assets[name][0]),
        "t": say,
        "text": say.text,
        "inline": lambda text: write.inline(say.text(text)),
        "link": write.link,
    }
    return environment.get_template(f"{page.template}.html.j2").render(values | page.values)


def _writer(page: Page, library: Library) -> Writer:
    def href(identity: str, anchor: str) -> str:
        return page.near(entry_address(identity)) + (f"#{anchor}" if anchor else "")

    return Writer({one.id for one in library.entries}, href)


def _page(lang: Language, address: str, template: str, title: str, description: str, values: dict[str, Any]) -> Page:
    return Page(address, lang, template, _cut(title, _TITLE), _cut(description, _DESCRIPTION), values)


def _cut(text: str, room: int) -> str:
    """Return a text that fits, cut between words where it does not."""
    words = " ".join(text.replace("`", "").split())
    if len(words) <= room:
        return words
    return words[: room - 1].rsplit(" ", 1)[0].rstrip(",.;:") + "…"


def _pages(library: Library, lang: Language) -> Iterator[Page]:
    say = Say(lang)
    ways = views.symptoms(library, say)
    fact = next((fact for fact in library.catalogue.facts if fact.id == "symptom"), None)
    home = {
        "ways": ways,
        "question": say.text(fact.question) if fact else "",
        "families": views.families(library, say),
        "guides": library.guides,
    }
    lead = say("site.home.lead")
    yield _page(lang, "index.html", "home", say("site.home.title"), lead, home)
    yield _named(lang, "symptoms", {"ways": ways})
    yield _named(lang, "errors", {"rows": views.messages(library, _at(library, lang, "errors.html"), say)})
    terms = {"terms": views.glossary(library, lang)}
    yield _named(lang, "glossary", terms)
    yield from _settings(library, lang)
    yield _page(
        lang,
        "about.html",
        "about",
        say("site.about.title"),
        say("site.about.what.text", entries=len(library.entries)),
        {},
    )
    yield _page(lang, "404.html", "missing", say("site.missing.title"), say("site.missing.text"), {})
    yield from _entries(library, lang)
    yield from _guides(library, lang)


def _named(lang: Language, name: str, values: dict[str, Any]) -> Page:
    say = Say(lang)
    return _page(lang, f"{name}.html", name, say(f"site.{name}.title"), say(f"site.{name}.lead"), values)


def _at(library: Library, lang: Language, address: str) -> Writer:
    return _writer(Page(address, lang, "", "", "", {}), library)


def _entries(library: Library, lang: Language) -> Iterator[Page]:
    say = Say(lang)
    ordered: Sequence[Any] = library.entries
    for index, one in enumerate(ordered):
        address = entry_address(one.id)
        values = views.entry(one, library, _at(library, lang, address), say)
        values["before"] = ordered[index - 1] if index else None
        values["after"] = ordered[index + 1] if index + 1 < len(ordered) else None
        title = f"{one.id} {say.text(one.title)}"
        yield _page(lang, address, "entry", title, say.text(one.summary), values)


def _settings(library: Library, lang: Language) -> Iterator[Page]:
    """Yield one page for each place in which settings are written; variables come on the first."""
    say = Say(lang)
    rows = views.settings(library, _at(library, lang, "settings.html"), say)
    places = list(dict.fromkeys(row["place"] for row in rows))
    listed = [
        (_place(place, say), _settings_address(place), sum(row["place"] == place for row in rows)) for place in places
    ]
    for place in places or ["environment"]:
        chosen = [row for row in rows if row["place"] == place]
        heading = say("site.settings.title", place=_place(place, say))
        values = {"rows": chosen, "places": listed, "heading": heading}
        lead = say("site.settings.lead")
        yield _page(lang, _settings_address(place), "settings", heading, lead, values)


def _place(place: str, say: Say) -> str:
    return say("site.settings.environment") if place == "environment" else place


def _settings_address(place: str) -> str:
    return "settings.html" if place == "environment" else f"settings-{place}.html"


def _guides(library: Library, lang: Language) -> Iterator[Page]:
    say = Say(lang)
    for guide in library.guides:
        address = f"guides/{guide.id}.html"
        title = say.text(guide.title)
        body, contents = render(say.text(guide.body), _at(library, lang, address), title)
        values = {"guide": guide, "body": body, "contents": contents}
        yield _page(lang, address, "guide", f"{guide.id} {title}", _first(guide.body, say), values)


def _first(body: Text, say: Say) -> str:
    """Return the first paragraph of a guide."""
    return next((part for part in say.text(body).split("\n\n") if part and part[0] not in "#`|-"), say.text(body))


def _sitemap(pages: Iterable[Page], base: str) -> str:
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">']
    lines += [f"<url><loc>{base}{page.path}</loc></url>" for page in pages if page.template != "missing"]
    return "\n".join([*lines, "</urlset>", ""])
