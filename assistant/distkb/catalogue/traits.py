"""Writes out for every cause what its entry and the traits of both say of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from distkb.catalogue.model import Cause, Entry, Likelihood, Shown, Trait


def expanded(entry: Entry, traits: Mapping[str, Trait]) -> Entry:
    """Return the entry with all that each cause shows stated at the cause, and the words that traits take.

    What is said of an observation, or of the values of a fact, counts from one place only: the cause itself, else its
    traits in their order, else the entry, else the entry's traits. Traits that do not exist are left to the check.
    """
    causes = tuple(
        msgspec.structs.replace(cause, evidence=_table(_places(entry, cause, traits)), takes=_takes(cause, traits))
        for cause in entry.causes
    )
    return msgspec.structs.replace(entry, causes=causes, takes=_takes(entry, traits))


def _takes(of: Entry | Cause, traits: Mapping[str, Trait]) -> tuple[str, ...]:
    """Return the words that something takes, or that its traits take where it says nothing itself."""
    return of.takes or tuple(word for name in of.traits if name in traits for word in traits[name].takes)


def _places(entry: Entry, cause: Cause, traits: Mapping[str, Trait]) -> Iterator[Shown]:
    yield cause.evidence
    yield from (traits[name].evidence for name in cause.traits if name in traits)
    yield entry.evidence
    yield from (traits[name].evidence for name in entry.traits if name in traits)


def _table(places: Iterator[Shown]) -> dict[Likelihood, tuple[str, ...]]:
    table: dict[Likelihood, list[str]] = {}
    told: set[str] = set()
    for shown in places:
        subjects = {name.partition("=")[0] for names in shown.values() for name in names}
        for word, names in shown.items():
            new = [name for name in names if name.partition("=")[0] not in told]
            if new:
                table.setdefault(word, []).extend(new)
        told |= subjects
    return {word: tuple(names) for word, names in table.items()}
