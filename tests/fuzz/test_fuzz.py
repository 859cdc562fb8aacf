"""A short run of the fuzzing campaign: nothing that is fed makes a reader raise, hang or grow."""

from __future__ import annotations

import pytest
from campaign import Tally, run
from readers import TARGETS

SECONDS = 60.0 / len(TARGETS)
"""Of processor time, for each of the targets: a minute together."""


@pytest.mark.parametrize("name", TARGETS)
def test_no_input_makes_a_reader_raise_or_take_long(name: str) -> None:
    """Recorded artifacts, what was found before, and a few hundred damaged and growing inputs made of them."""
    tally = Tally()
    run(name, SECONDS, 23, tally)
    assert tally.inputs > 10
    assert [(fault.what, fault.data[:200]) for fault in tally.faults] == []
