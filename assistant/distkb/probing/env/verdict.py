"""Collects findings: one observation for each thing that is wrong, with every place where it shows."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping

from distkb.evidence.observation import Observation, Quote
from distkb.evidence.text.clean import WIDTH, quote_text

_MOST_QUOTES = 8
_MOST_LISTED = 8


class EnvVerdict:
    """What was looked for, and what was found."""

    def __init__(self) -> None:
        self._looked: dict[str, None] = {}
        self._found: dict[tuple[str, tuple[tuple[str, str], ...]], list[Quote]] = {}

    def look(self, *identities: str) -> None:
        """Note what the facts allow to judge."""
        self._looked.update(dict.fromkeys(identities))

    def find(self, identity: str, quotes: Iterable[Quote], values: Mapping[str, object] | None = None) -> None:
        """Note a finding; one with the same id and values gains the quotes."""
        filled = tuple(sorted((name, quote_text(str(value))) for name, value in (values or {}).items()))
        known = self._found.setdefault((identity, filled), [])
        for one in quotes:
            if one not in known:
                known.append(one)

    def found(self) -> list[Observation]:
        """Return the findings in the order in which they were made."""
        return [
            Observation(
                id=identity,
                source="probe",
                values=dict(values),
                quotes=tuple(quotes[:_MOST_QUOTES]),
                count=max(1, len(quotes)),
            )
            for (identity, values), quotes in self._found.items()
        ]

    def clear(self) -> list[str]:
        """Return what was looked for and is not there."""
        found = {identity for identity, _ in self._found}
        return [identity for identity in self._looked if identity not in found]


def quote(text: str, path: str | None = None, rank: int | None = None) -> Quote:
    """Return a quote with its text cleaned and masked."""
    return Quote(text=quote_text(text), path=None if path is None else quote_text(path), rank=rank)


def word(text: object) -> str:
    """Return a text as one word of a command line: what a process calls itself must not become a command."""
    return shlex.quote(str(text)) if len(str(text)) < WIDTH // 2 else "…"


def listed(items: Iterable[object], most: int = _MOST_LISTED) -> str:
    """Return items joined by commas, the end of a long list left out."""
    texts = [str(item) for item in items]
    return ", ".join(texts[:most]) + (f", … ({len(texts)})" if len(texts) > most else "")
