"""Glossary forms found in texts."""

from __future__ import annotations

import pytest
from search_catalogue import TERMS, term

from distkb.search.forms import Forms, form_key
from distkb.search.tokens import pieces

FORMS = Forms.of_terms(TERMS)


def concepts(text: str, forms: Forms = FORMS) -> list[str]:
    """Concept tokens of a text."""
    return forms.tokens(pieces(text))


@pytest.mark.parametrize(
    "text", ["집합 통신", "집합통신", "집합  통신에서", "콜렉티브가", "a collective", "collectives"]
)
def test_spellings_of_one_term_meet(text: str) -> None:
    """Every spelling of a term, with or without spaces and particles, must give its one concept."""
    assert concepts(text) == ["§collective"]


@pytest.mark.parametrize("text", ["행", "행이 걸렸어요", "hangs", "hung", "먹통이에요"])
def test_languages_meet_in_the_concept(text: str) -> None:
    """Korean and English words for a hang must give the same concept."""
    assert concepts(text) == ["§hang"]


@pytest.mark.parametrize("text", ["실행", "행렬", "진행", "은행나무"])
def test_form_of_one_syllable_is_no_part_of_a_word(text: str) -> None:
    """`행` inside another word must not be read as a hang."""
    assert concepts(text) == []


def test_match_over_a_space_starts_at_a_word() -> None:
    """A form may not be put together from the end of one word and the start of the next."""
    forms = Forms.of_terms([term("x", [], ["포트 충돌"])])
    assert concepts("포트 충돌", forms) == ["§x"]
    assert concepts("리포트 충돌", forms) == []


def test_punctuation_separates() -> None:
    """A phrase that runs over a full stop is no phrase."""
    assert concepts("집합. 통신") == []
    assert concepts("out of memory") == ["§oom"]
    assert concepts("out of. memory") == []


def test_longest_form_wins() -> None:
    """A longer form must use up the words of a shorter one inside it."""
    forms = Forms.of_terms([term("gpu", ["gpu"], []), term("gpu-memory", ["gpu memory"], [])])
    assert concepts("gpu memory on the gpu", forms) == ["§gpu-memory", "§gpu"]


def test_name_matches_by_its_parts() -> None:
    """A camel-case name and its spelt-out form must be one form."""
    assert form_key("SyncBatchNorm") == form_key("sync_batch_norm") == form_key("sync batch norms")
    assert concepts("SyncBatchNorm을") == concepts("싱크배치놈을") == ["§syncbn"]


def test_form_may_name_several_terms() -> None:
    """A form that two terms share must give both concepts."""
    forms = Forms.of_terms([term("a", ["scheduler"], []), term("b", ["scheduler"], [])])
    assert concepts("scheduler", forms) == ["§a", "§b"]
