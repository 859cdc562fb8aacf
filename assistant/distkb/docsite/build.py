"""Writes the whole site into a folder: pages in both languages, hashed assets, nothing that changes between builds."""

from __future__ import annotations

import html
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from distkb import __version__
from distkb.catalogue.places import checkout
from distkb.catalogue.records import LANGUAGES, Language, Text
from distkb.docsite import advise, diagnose, families, finding, incidents, machines, messages, symptoms, tree, views
from distkb.docsite.beside import beside
from distkb.docsite.data import generated
from distkb.docsite.diagrams import keeps
from distkb.docsite.markdown import render
from distkb.docsite.scripts import address, script, slim
from distkb.docsite.site import Page, at, cut, entry_address, make_page, named, named_address, settings_address, writer
from distkb.docsite.views import Library
from distkb.locale import Say

if TYPE_CHECKING:
    import jinja2

NAV = (
    ("diagnose.html", "site.diagnose"),
    ("symptoms.html", "site.symptoms"),
    ("errors.html", "site.errors"),
    ("settings.html", "site.settings"),
    ("glossary.html", "site.glossary"),
    ("advise.html", "site.advise"),
    ("about.html", "site.about"),
)
NAMES = {"en": "English", "ko": "한국어"}
SHARDED_GUIDES = {"G1": 6}
"""Guides with the drawing of what each rank keeps, and at the end of which of their sections it stands."""
SEARCHED = frozenset(
    {"search.js", "text.js", "search-index.js"}
    | {f"{name}-{lang}.js" for name in ("search-names", "search-texts", "messages") for lang in LANGUAGES}
)
"""What the script of every page loads when somebody searches: it knows these by name."""
MARKER = ".distkb-site"
"""A file that says that a folder was written by this program, and may be replaced by it."""


@dataclass(frozen=True)
class Places:
    """Where the site will stand, and where its sources do; either may be empty."""

    base: str
    repository: str


class NotOursError(ValueError):
    """The folder to write into holds something else."""


def sources() -> Path:
    """Return the folder of templates and assets: the repository's `site`, else the one inside the package."""
    repository = checkout()
    return repository / "site" if repository else Path(__file__).parents[1] / "_site"


def build(library: Library, out: Path, *, base_url: str | None = None, repository: str | None = None) -> int:
    """Write the site into `out` and return the number of pages.

    An existing folder is replaced if an earlier build made it, or if it is empty. Raises NotOursError otherwise.
    """
    files = dict(rendered(library, base_url=base_url, repository=repository))
    if out.exists() and any(out.iterdir()) and not (out / MARKER).is_file():
        raise NotOursError(str(out))
    if out.exists():
        shutil.rmtree(out)
    for path, content in files.items():
        target = out / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return sum(path.endswith(".html") for path in files)


def rendered(
    library: Library, *, base_url: str | None = None, repository: str | None = None
) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of every file of the site.

    `base_url` is where it will stand, `repository` where its entries can be edited and wrong answers reported.
    """
    base = f"{base_url.rstrip('/')}/" if base_url else ""
    places = Places(base, (repository or "").rstrip("/"))
    made = beside(lambda: _assets(sources() / "assets", library))
    environment = _environment(sources() / "templates")
    pages = [page for lang in LANGUAGES for page in _pages(library, lang)]
    pages += tree.pages(library)
    there = frozenset(page.address for page in pages)
    assets = made()

    def write(some: Sequence[Page]) -> list[tuple[str, bytes]]:
        return [(page.path, _render(page, library, environment, assets, places, there).encode()) for page in some]

    half = len(pages) // 2
    second = beside(lambda: write(pages[half:]))
    yield MARKER, b"written by distkb site build\n"
    yield from assets.values()
    yield from write(pages[:half])
    yield from second()
    yield from machines.files(library, base)
    if base:
        # a host shows this for any address that it does not have, so that no link of it may be relative
        missing = next(page for page in pages if page.template == "missing")
        lost = replace(missing, root=urlsplit(base).path)
        yield "404.html", _render(lost, library, environment, assets, places, there).encode()
    root = environment.get_template("root.html.j2").render(asset=lambda name: assets[name][0])
    yield "index.html", root.encode()
    yield "robots.txt", (f"User-agent: *\nAllow: /\n{f'Sitemap: {base}sitemap.xml' if base else ''}").encode()
    if base:
        yield "sitemap.xml", _sitemap(pages, base).encode()


def _assets(folder: Path, library: Library) -> dict[str, tuple[str, bytes]]:
    """Return, by name, each asset's path with a digest in it, and its content: files, and scripts of data."""
    contents = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    contents = {name: slim(c.decode()).encode() if name.endswith(".js") else c for name, c in contents.items()}
    contents |= dict(generated(library))
    names = {name: Path(address(name, contents[name])).name for name in sorted(SEARCHED)}
    contents["site.js"] = script("assets", names) + contents["site.js"]
    contents = diagnose.scripts(contents, library, folder.parent / "runtime")
    return {name: (address(name, content), content) for name, content in contents.items()}


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
    places: Places,
    there: frozenset[str],
) -> str:
    say = Say(page.lang)
    write = writer(page, library)
    values = {
        "page": page,
        "languages": LANGUAGES,
        "names": NAMES,
        "nav": NAV,
        "base_url": places.base,
        "repository": places.repository,
        "linked": linked(page, places.base) if places.base else "",
        "crumbs": (),
        "card": assets["card.png"][0],
        "named": named_address,
        "version": __version__,
        "newest": machines.newest(library),
        "has": there.__contains__,
        "known": {one.id for one in library.entries},
        "engine": diagnose.ENGINE in assets,
        "asset": lambda name: page.to(assets[name][0]),
        "t": say,
        "text": say.text,
        "inline": lambda text: write.inline(say.text(text)),
        "link": write.link,
    }
    return environment.get_template(f"{page.template}.html.j2").render(values | page.values)


def _pages(library: Library, lang: Language) -> Iterator[Page]:
    say = Say(lang)
    ways = views.symptoms(library, say)
    fact = next((fact for fact in library.catalogue.facts if fact.id == "symptom"), None)
    home = {
        "ways": ways,
        "question": say.text(fact.question) if fact else "",
        "families": views.families(library, say),
        "guides": library.guides,
        "examples": _examples(library, say),
        "incidents": incidents.listed(library, say),
    }
    lead = say("site.home.lead")
    yield make_page(lang, "index.html", "home", say("site.home.title"), lead, home)
    yield from symptoms.pages(library, lang)
    yield from messages.pages(library, lang)
    yield from finding.pages(library, lang)
    terms = {"terms": views.glossary(library, lang)}
    yield named(lang, "glossary", terms)
    yield from _settings(library, lang)
    yield make_page(
        lang,
        "about.html",
        "about",
        say("site.about.title"),
        say("site.about.what.text", entries=len(library.entries)),
        {},
    )
    yield make_page(lang, "404.html", "missing", say("site.missing.title"), say("site.missing.text"), {})
    yield from _entries(library, lang)
    yield from _guides(library, lang)
    yield from incidents.pages(library, lang)
    yield from advise.pages(library, lang)
    yield from diagnose.pages(library, lang)
    yield from families.pages(library, lang)


EXAMPLES = ("torch.nccl.watchdog-timeout", "torch.ddp.reduction-unfinished")
"""Lines that the home page offers to try."""
EXAMPLE_SIZE = 6_000
"""Bytes of a recorded log that it offers at most."""


def _examples(library: Library, say: Say) -> list[tuple[str, str]]:
    """Return name and text of what can be tried: printed lines, the output of several ranks, and a description."""
    known = messages.lines(library)
    found = [(cut(known[one].text, 44), known[one].signature.example or "") for one in EXAMPLES if one in known]
    for incident in library.incidents:
        log = incident.directory / "logs" / "console.log"
        if log.is_file() and log.stat().st_size <= EXAMPLE_SIZE:
            found.append((say("site.home.log", id=incident.incident.id), log.read_text(encoding="utf-8")))
    return [*found, (say("site.home.described"), say("site.home.described"))]


def _entries(library: Library, lang: Language) -> Iterator[Page]:
    say = Say(lang)
    ordered: Sequence[Any] = library.entries
    for index, one in enumerate(ordered):
        address = entry_address(one.id)
        values = views.entry(one, library, at(library, lang, address), say)
        values["before"] = ordered[index - 1] if index else None
        values["after"] = ordered[index + 1] if index + 1 < len(ordered) else None
        values["crumbs"] = ((say(f"family.{one.family}"), families.address(one.family)),)
        values["modified"] = values["read"]
        title = f"{one.id} {say.text(one.title)}"
        yield make_page(lang, address, "entry", title, say.text(one.summary), values)


def _settings(library: Library, lang: Language) -> Iterator[Page]:
    """Yield one page for each place in which settings are written; variables come on the first."""
    say = Say(lang)
    rows = views.settings(library, at(library, lang, "settings.html"), say)
    places = list(dict.fromkeys(row["place"] for row in rows))
    listed = [
        (_place(place, say), settings_address(place), sum(row["place"] == place for row in rows)) for place in places
    ]
    for place in places or ["environment"]:
        chosen = [row for row in rows if row["place"] == place]
        heading = say("site.settings.title", place=_place(place, say))
        values = {"rows": chosen, "places": listed, "heading": heading}
        lead = say("site.settings.lead")
        yield make_page(lang, settings_address(place), "settings", heading, lead, values)


def _place(place: str, say: Say) -> str:
    return say("site.settings.environment") if place == "environment" else place


def _guides(library: Library, lang: Language) -> Iterator[Page]:
    say = Say(lang)
    for guide in library.guides:
        address = f"guides/{guide.id}.html"
        title = say.text(guide.title)
        body, contents = render(say.text(guide.body), at(library, lang, address), title)
        body = _drawn(body, [anchor for anchor, _ in contents], SHARDED_GUIDES.get(guide.id), say)
        values = {"guide": guide, "body": body, "contents": contents, "crumbs": ()}
        yield make_page(lang, address, "guide", f"{guide.id} {title}", _first(guide.body, say), values)


def _drawn(body: str, anchors: Sequence[str], section: int | None, say: Say) -> str:
    """Return the HTML of a guide with the drawing of what each rank keeps at the end of a section, counted from 1."""
    if section is None or section >= len(anchors):
        return body
    caption = f"<figcaption>{html.escape(say('site.diagram.keeps.text'))}</figcaption>"
    next_section = f'<h2 id="{anchors[section]}"'
    return body.replace(next_section, f'<figure class="drawn">{keeps("drawn", say)}{caption}</figure>\n{next_section}')


def _first(body: Text, say: Say) -> str:
    """Return the first paragraph of a guide."""
    return next((part for part in say.text(body).split("\n\n") if part and part[0] not in "#`|-"), say.text(body))


def linked(page: Page, base: str) -> str:
    """Return what search engines read of a page as JSON-LD, safe inside a script element."""
    told = {
        "@context": "https://schema.org",
        "@type": "TechArticle",
        "headline": page.title,
        "inLanguage": page.lang,
        "url": base + page.path,
    }
    if modified := page.values.get("modified"):
        told["dateModified"] = modified
    return json.dumps(told, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _sitemap(pages: Sequence[Page], base: str) -> str:
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">']
    newest = max((page.values.get("modified", "") for page in pages), default="")
    for page in pages:
        if page.template not in ("missing", "print", "search"):
            date = page.values.get("modified") or newest
            told = f"<lastmod>{date}</lastmod>" if date else ""
            lines.append(f"<url><loc>{base}{page.path}</loc>{told}</url>")
    return "\n".join([*lines, "</urlset>", ""])
