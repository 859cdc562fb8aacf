"""The same question in both languages, against the built-in entries."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import built_in
import msgspec
import pytest

from distkb.search.index import Index, build, load
from distkb.search.query import search

if TYPE_CHECKING:
    from distkb.catalogue.model import Catalogue, Language

PAIRS = Path(__file__).parent / "golden" / "pairs.jsonl"


class Pair(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One question as an English and as a Korean engineer types it, and the entry that answers it."""

    entry: str
    en: str
    ko: str
    also: tuple[str, ...] = ()
    """Other entries that answer it as well: the question does not say which of them it is."""

    @property
    def right(self) -> frozenset[str]:
        """Every entry that answers it."""
        return frozenset((self.entry, *self.also))


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    """The built-in knowledge base."""
    return built_in.catalogue()


@pytest.fixture(scope="module")
def index(catalogue: Catalogue) -> Index:
    """Its search index."""
    return load(build(catalogue))


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    """All pairs."""
    return [msgspec.json.decode(line, type=Pair) for line in PAIRS.read_text(encoding="utf-8").splitlines()]


def found(index: Index, query: str) -> list[str]:
    """Ids of the first three entries."""
    return [hit.id for hit in search(index, query, limit=3)]


@pytest.mark.slow
@pytest.mark.parametrize("lang", ["en", "ko"])
def test_each_language_finds_the_entry(index: Index, pairs: list[Pair], lang: Language) -> None:
    """At least 95 % of the questions must have their entry among the first three, 85 % as the first."""
    results = [(pair, found(index, getattr(pair, lang))) for pair in pairs]
    missed = [f"{pair.entry}: {getattr(pair, lang)} → {ids}" for pair, ids in results if not pair.right & set(ids)]
    assert len(missed) <= 0.05 * len(pairs), "\n".join(missed)
    assert sum(bool(pair.right & set(ids[:1])) for pair, ids in results) >= 0.85 * len(pairs)


@pytest.mark.slow
def test_the_language_of_a_question_does_not_matter(index: Index, pairs: list[Pair]) -> None:
    """At least 90 % of the pairs must have the same first entry in both languages."""
    apart = [
        f"{pair.entry}: {en[:1]} for {pair.en!r}, {ko[:1]} for {pair.ko!r}"
        for pair in pairs
        if (en := found(index, pair.en))[:1] != (ko := found(index, pair.ko))[:1]
        and not pair.right >= {*en[:1], *ko[:1]}
    ]
    assert len(apart) <= 0.1 * len(pairs), "\n".join(apart)


def test_spaces_inside_korean_do_not_matter(index: Index, pairs: list[Pair]) -> None:
    """Without the spaces between Korean words, at least 90 % must still have the entry among the first three."""
    joined = [(pair.right, re.sub(r"(?<=[가-힣]) (?=[가-힣])", "", pair.ko)) for pair in pairs]
    missed = [(sorted(right), query) for right, query in joined if not right & set(found(index, query))]
    assert len(missed) <= 0.1 * len(pairs), missed


def test_every_entry_is_asked_for_and_no_question_is_an_alias(catalogue: Catalogue, pairs: list[Pair]) -> None:
    """Each entry must have two pairs or more, each pair a known entry, and none may repeat an alias word for word."""
    asked = Counter(pair.entry for pair in pairs)
    assert set(asked) <= {entry.id for entry in catalogue.entries}
    assert not [entry_id for entry_id, count in asked.items() if count < 2]
    aliases = {alias.casefold() for entry in catalogue.entries for alias in (*entry.aliases.en, *entry.aliases.ko)}
    assert not [pair for pair in pairs if {pair.en.casefold(), pair.ko.casefold()} & aliases]


def test_both_languages_have_enough_aliases(catalogue: Catalogue) -> None:
    """No entry may have less than two thirds as many aliases in one language as in the other."""
    for entry in catalogue.entries:
        english, korean = len(entry.aliases.en), len(entry.aliases.ko)
        assert 3 * min(english, korean) >= 2 * max(english, korean), f"{entry.id}: {english} and {korean}"
