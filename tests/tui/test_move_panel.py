"""The panel that shows a move and takes the answer."""

from __future__ import annotations

import built_in

from distkb.tui.widgets.move import CONFIRM, NONE, UNKNOWN


def test_the_panels_own_answers_are_no_values_of_a_fact() -> None:
    """The first answer of every question has the key 1, also where a fact has a value called `none`."""
    values = {value.value for fact in built_in.catalogue().facts for value in fact.values}
    assert "none" in values
    assert not values & {CONFIRM, NONE, UNKNOWN}
