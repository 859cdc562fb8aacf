"""Facts that the user states."""

from __future__ import annotations

import pytest
from evidence_samples import facts

from distkb.evidence.facts import FactError, check_facts, observed, parse_facts


def test_good_facts() -> None:
    """Names and values are read without regard to case; unknown gives no observation."""
    stated = parse_facts(["Symptom=HANG", "same-spot=yes", "nodes=unknown"], facts())
    assert stated == {"symptom": "hang", "same_spot": "yes", "nodes": "unknown"}
    assert [one.id for one in observed(stated)] == ["symptom=hang", "same_spot=yes"]


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("symptom", "a fact is written name=value, not 'symptom'"),
        ("symtom=hang", "no fact is called 'symtom'; did you mean symptom?"),
        ("symptom=hung", "the fact symptom has no value 'hung'; did you mean hang?"),
        ("same_spot=perhaps", "the fact same_spot has no value 'perhaps'; it is one of yes, no, unknown"),
    ],
)
def test_bad_facts(word: str, message: str) -> None:
    """Mistakes are one clear line with the nearest that exists."""
    with pytest.raises(FactError) as caught:
        parse_facts([word], facts())
    assert str(caught.value) == message


def test_names_are_cleaned() -> None:
    """An escape sequence in an argument does not reach the terminal."""
    with pytest.raises(FactError) as caught:
        check_facts({"\x1b[31mred": "x"}, facts())
    assert "\x1b" not in str(caught.value)
