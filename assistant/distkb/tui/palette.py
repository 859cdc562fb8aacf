"""What the command palette offers and says, in the language of the app."""

from __future__ import annotations

from textual.app import SystemCommand
from textual.command import DiscoveryHit, Hit, Hits, Provider

from distkb.tui.voice import voice


class Commands(Provider):
    """Offers the commands of the app and of the screen below the palette; says so where none fits."""

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
        if not some:
            yield Hit(0.01, voice(self.app)("tui.palette.none"), lambda: None)
