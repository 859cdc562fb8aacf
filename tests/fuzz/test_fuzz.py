"""A short run of the fuzzing campaign: nothing that is fed makes a reader raise, hang or grow."""

from __future__ import annotations

import pytest
from campaign import Tally, run
from readers import TARGETS

SECONDS = {"quick": 5.0, "rest": 60.0, "whole": 60.0}
"""Of processor time in each tier, for all targets together."""


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize("name", TARGETS)
def test_no_input_makes_a_reader_raise_or_take_long(name: str, tier: str) -> None:
    """Recorded artifacts, what was found before, and a few hundred damaged and growing inputs made of them."""
    tally = Tally()
    run(name, SECONDS[tier] / len(TARGETS), 23, tally)
    assert tally.inputs > 10
    assert [(fault.what, fault.data[:200]) for fault in tally.faults] == []
