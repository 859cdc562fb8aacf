"""The panel that shows a move and takes the answer."""

from __future__ import annotations

from pathlib import Path

from distkb.catalogue.load import load_sources
from distkb.tui.widgets.move import CONFIRM, NONE, UNKNOWN

KB = Path(__file__).parents[2] / "kb"


def test_the_panels_own_answers_are_no_values_of_a_fact() -> None:
    """The first answer of every question has the key 1, also where a fact has a value called `none`."""
    values = {value.value for fact in load_sources([KB])[0].facts for value in fact.values}
    assert "none" in values
    assert not values & {CONFIRM, NONE, UNKNOWN}
