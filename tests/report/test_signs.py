"""An entry begins with what to see, check and do, and tells its signs strongest first, in sentences, the rest apart."""

from __future__ import annotations

import pytest

from distkb import knowledge
from distkb.catalogue.model import Catalogue
from distkb.locale import Language, Say
from distkb.report import entry as page
from distkb.report.layout import width
from distkb.report.meaning import Meanings
from distkb.report.signs import SHOWN, rows, speaking_for, table


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    """The built-in catalogue."""
    return knowledge.open_knowledge([]).catalogue()


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_every_entry_begins_with_a_table_that_fits(catalogue: Catalogue, lang: Language) -> None:
    """Each cause has a row, the rows tell the causes apart, and no line is wider than the page."""
    meanings, say = Meanings(catalogue), Say(lang)
    for entry in catalogue.entries:
        made = list(rows(entry.causes, meanings))
        assert [row.cause for row in made] == list(entry.causes), entry.id
        assert len({(row.seen, row.cause.title) for row in made}) == len(made), entry.id
        assert all(row.command or row.checked for row in made)
        for columns in (50, 80):
            assert all(width(line) <= columns for line in table(entry, meanings, say, columns)), entry.id


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_every_answer_is_a_sentence(catalogue: Catalogue, lang: Language) -> None:
    """What an answer says of the run is one sentence: no question mark, and no question beside its answer."""
    meanings, say = Meanings(catalogue), Say(lang)
    for fact in catalogue.facts:
        for value in fact.values:
            text = meanings.sentence(f"{fact.id}={value.value}", say)
            assert "?" not in text, text
            assert text.endswith("."), text


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_signs_are_sentences_and_the_rest_is_folded(catalogue: Catalogue, lang: Language) -> None:
    """At most five signs a cause, what tells most first, no `question? answer (often)`; `whole` shows all of them."""
    meanings, say = Meanings(catalogue), Say(lang)
    entry = next(one for one in catalogue.entries if one.id == "D21")
    for cause in entry.causes:
        for one in speaking_for(cause, meanings):
            text = meanings.sentence(one.observation, say)
            assert text.endswith((".", ")")), text
            assert say(f"likelihood.{one.likelihood}") != text.rpartition("(")[2].rstrip(")")
    most = max(len(speaking_for(cause, meanings)) for cause in entry.causes)
    assert most > SHOWN
    short, long = (page.write(entry, meanings, say, whole=whole) for whole in (False, True))
    assert "--all" in short
    assert "--all" not in long
    assert len(short) < len(long)


def test_an_id_of_a_fix_stands_once(catalogue: Catalogue) -> None:
    """The page names each fix by its id in one place."""
    entry = next(one for one in catalogue.entries if one.id == "D21")
    text = page.write(entry, Meanings(catalogue), Say("en"), whole=False)
    for cause in entry.causes:
        for fix in cause.fixes:
            assert text.count(f"{fix.id} ") == 1, fix.id
