"""Facts that the user states: `name=value`."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from distkb.evidence.observation import Observation, Quote
from distkb.evidence.text.clean import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from distkb.catalogue.model import Fact

UNKNOWN = "unknown"
"""The value that every fact may have; it says nothing."""


class FactError(ValueError):
    """A fact that does not exist, with the nearest that does; its text is one line for the user."""


def parse_facts(stated: Iterable[str], facts: Sequence[Fact]) -> dict[str, str]:
    """Read `name=value` words into a mapping.

    Raises:
        FactError: no such form, name or value.
    """
    values: dict[str, str] = {}
    for word in stated:
        name, equals, value = word.partition("=")
        if not equals:
            raise FactError(f"a fact is written name=value, not {plain(word)!r}")
        values[name.strip()] = value.strip()
    return check_facts(values, facts)


def check_facts(stated: Mapping[str, str], facts: Sequence[Fact]) -> dict[str, str]:
    """Check names and values against the definitions; both are compared without case.

    Raises:
        FactError: no such name or value.
    """
    known = {fact.id: fact for fact in facts}
    checked: dict[str, str] = {}
    for given_name, given_value in stated.items():
        name = given_name.lower().replace("-", "_")
        fact = known.get(name)
        if fact is None:
            raise FactError(f"no fact is called {plain(given_name)!r}" + _hint(name, list(known)))
        value = given_value.lower()
        values = [*(item.value for item in fact.values), UNKNOWN]
        if value not in values:
            raise FactError(f"the fact {name} has no value {plain(given_value)!r}" + _hint(value, values))
        checked[name] = value
    return checked


def _hint(word: str, known: Sequence[str]) -> str:
    near = get_close_matches(word, known, n=1, cutoff=0.5)
    if near:
        return f"; did you mean {near[0]}?"
    return f"; it is one of {', '.join(known)}"


def observed(facts: Mapping[str, str]) -> list[Observation]:
    """Observations of the facts that were stated; unknown ones give none."""
    return [
        Observation(id=f"{name}={value}", source="fact", quotes=(Quote(text=f"{name}={value}"),))
        for name, value in facts.items()
        if value != UNKNOWN
    ]
