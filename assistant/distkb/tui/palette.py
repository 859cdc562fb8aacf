"""What the command palette finds and says, in the language of the app: commands, entries, settings and files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, cast

from textual.app import SystemCommand
from textual.command import DiscoveryHit, Hit, Hits, Provider

from distkb.evidence.text.clean import plain
from distkb.tui.language import say_of

if TYPE_CHECKING:
    from distkb.tui.app import DistkbApp

EACH = 6
"""So many entries, settings and files are offered."""
_MOST_FILES = 2000

Found = tuple[str, str, Callable[[], None]]


class Commands(Provider):
    """Offers the commands of the app and of the screen below the palette, then what the words find; says so if none."""

    def _all(self) -> list[SystemCommand]:
        return list(self.app.get_system_commands(self.screen))

    async def discover(self) -> Hits:
        """Offer everything, in the app's own order."""
        for name, about, callback, *_ in self._all():
            yield DiscoveryHit(name, callback, help=about)

    async def search(self, query: str) -> Hits:
        """Offer what fits the words."""
        matcher, some = self.matcher(query), False
        for name, about, callback, *_ in self._all():
            score = matcher.match(name)
            if score > 0:
                some = True
                yield Hit(score, matcher.highlight(name), callback, help=about)
        app = cast("DistkbApp", self.app)
        for place, (name, about, go) in enumerate((*settings(app, query), *files(app, query), *entries(app, query))):
            some = True
            yield Hit(0.5 - place * 0.01, name, go, help=about)
        if not some:
            yield Hit(0.01, say_of(self.app)("tui.palette.none"), lambda: None)


def entries(app: DistkbApp, query: str) -> Iterator[Found]:
    """Yield the entries that fit the words."""
    if app.knowledge is not None:
        from distkb.search.query import search

        for result in search(app.knowledge.index, query, EACH, app.say.lang):
            title = app.say.text(app.knowledge.entries[result.id].title)
            yield f"{result.id}  {title}", app.say("tui.palette.entry"), partial(app.show_entry, result.id)


def settings(app: DistkbApp, query: str) -> Iterator[Found]:
    """Yield the variables, flags and keys whose name holds the words."""
    if app.knowledge is not None and len(wanted := query.strip().casefold()) > 1:
        names = dict.fromkeys(setting.name for setting in app.knowledge.compiled.settings())
        for name in islice((name for name in names if wanted in name.casefold()), EACH):
            yield name, app.say("tui.palette.setting"), partial(app.show_setting, name)


def files(app: DistkbApp, query: str) -> Iterator[Found]:
    """Yield the files and folders here whose name holds the words, or that the words are the path of."""
    wanted = query.strip()
    try:
        here = [path for path, _ in zip(Path.cwd().iterdir(), range(_MOST_FILES), strict=False)]
        named = [Path(wanted).expanduser()] if "/" in wanted and Path(wanted).expanduser().exists() else []
    except (OSError, ValueError, RuntimeError):
        return
    found = [*named, *(path for path in sorted(here) if wanted and wanted.casefold() in path.name.casefold())]
    for path in found[:EACH]:
        name = plain(str(path) if path in named else path.name) + ("/" if path.is_dir() else "")
        yield name, app.say("tui.palette.file"), partial(app.begin, "", (path,))
