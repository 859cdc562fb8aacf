"""Numbers that the ranks printed again and again."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_samples import TEXTS, spoken

from distkb.evidence.run.series import LEAST_ROWS, MARK, RELATIONS, Column, columns

STEPS = range(6)


def column(word: str, said: dict[int, list[str]]) -> Column:
    """The column behind a word."""
    (found,) = [one for one in columns(spoken(said)) if re.search(rf"\b{word}\b[ =]*{MARK}", one.context)]
    return found


@given(st.dictionaries(st.integers(0, 4), st.lists(TEXTS, min_size=1, max_size=8), max_size=4))
def test_any_lines_make_columns(said: dict[int, list[str]]) -> None:
    """Each column has one mark, cells of the ranks that spoke, and an answer to every relation."""
    for one in columns(spoken(said)):
        assert MARK in one.context
        assert one.ranks
        for process, cells in one.ranks:
            assert cells
            assert all(cell.line.text in said[process.rank or 0] for cell in cells)
        assert all(relation(one) in {True, False} for relation in RELATIONS.values())


@given(st.lists(st.floats(0.001, 10, allow_nan=False), min_size=2, max_size=8))
def test_numbers_cannot_differ_and_agree(values: list[float]) -> None:
    """Two ranks' numbers never both differ and agree."""
    said = {rank: [f"loss {value + rank * (rank - 1):.4f}" for value in values] for rank in range(3)}
    one = column("loss", said)
    assert not (RELATIONS["differs"](one) and RELATIONS["agrees"](one))


def test_the_same_precise_losses_on_every_rank_agree() -> None:
    """Equal numbers of four digits, several times, are no accident; equal ones of one digit are."""
    precise = {rank: [f"step {step} loss {2.1234 - step / 7:.4f}" for step in STEPS] for rank in (0, 1)}
    rough = {rank: [f"step {step} loss {2 - step / 10:.1f}" for step in STEPS] for rank in (0, 1)}
    assert RELATIONS["agrees"](column("loss", precise))
    assert not RELATIONS["agrees"](column("loss", rough))


def test_one_other_value_is_a_difference() -> None:
    """Ranks that print the same line with another number differ; one rank alone cannot."""
    said = {rank: ["world size 4", f"samples {100 if rank == 2 else 128}"] for rank in range(4)}
    assert RELATIONS["differs"](column("samples", said))
    assert not RELATIONS["differs"](column("size", said))
    assert not RELATIONS["differs"](column("samples", {0: said[0]}))


def test_a_number_that_never_moves_beside_one_that_does_is_constant() -> None:
    """The norm of weights that nothing trains stays, while the step beside it goes on."""
    stuck = {0: [f"step {step} norm 12.3456" for step in STEPS]}
    moves = {0: [f"step {step} norm {12.3456 + step}" for step in STEPS]}
    assert RELATIONS["constant"](column("norm", stuck))
    assert not RELATIONS["constant"](column("norm", moves))
    assert not RELATIONS["constant"](column("norm", {0: ["norm 12.3456"] * LEAST_ROWS}))


@pytest.mark.parametrize(
    ("rates", "ends"),
    [
        ([3, 2, 1, 0, 0, 0, 0], True),
        ([3, 3, 2, 2, 1, 1, 0], False),
        ([0, 0, 0, 0, 0, 0, 0], False),
        ([3, 0, 3, 0, 3, 0, 3], False),
        ([3, 0, 0], False),
    ],
)
def test_a_rate_that_ends_at_zero(rates: list[int], ends: bool) -> None:
    """A number ends at zero where it was not, falls to it before the last lines, and stays."""
    said = {0: [f"step {step} lr {rate / 1000}" for step, rate in enumerate(rates)]}
    assert RELATIONS["ends-at-zero"](column("lr", said)) is ends


def test_one_slow_rank_stands_out() -> None:
    """A rank stands out with a number three times that of every other, and not where two are slow."""
    times = {rank: [f"step {step} data {0.9 if rank == 3 else 0.1} s" for step in STEPS] for rank in range(4)}
    assert RELATIONS["stands-out"](column("data", times))
    times[2] = times[3]
    assert not RELATIONS["stands-out"](column("data", times))


@pytest.mark.parametrize("text", ["loss inf", "loss nan", "loss 1e999", "loss --", "0x1f"])
def test_what_is_no_number_is_no_cell(text: str) -> None:
    """What has no finite value is left out."""
    assert all(cell.value < 1e300 for one in columns(spoken({0: [text]})) for _, cells in one.ranks for cell in cells)
