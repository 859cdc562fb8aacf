"""Numbers that the ranks printed again and again."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_samples import TEXTS, spoken

from distkb.evidence.run.columns import LEAST_ROWS, MARK, Column, columns
from distkb.evidence.run.relations import RELATIONS

STEPS = range(6)


def column(word: str, said: dict[int, list[str]]) -> Column:
    """The column behind a word."""
    (found,) = [one for one in columns(spoken(said)) if re.search(rf"\b{word}\b[ =:]*{MARK}", one.context)]
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


@pytest.mark.parametrize(
    ("mine", "theirs", "drifts"),
    [
        ("4.5142 4.6230 4.7011 4.7512", "4.5142 4.6234 4.7104 4.7630", True),
        ("4.5142 4.6230 4.7011 4.7512", "4.5142 4.6230 4.7011 4.7512", False),
        ("4.5142 4.6230 4.7011 4.7512", "4.6001 4.6234 4.7104 4.7630", False),
        ("0.5 0.6 0.7 0.8", "0.5 0.7 0.8 0.9", False),
    ],
)
def test_what_begins_alike_and_goes_apart_drifts(mine: str, theirs: str, drifts: bool) -> None:
    """A precise number that was the same on all ranks at first and not at the end drifts; a rough one may."""
    said = {rank: [f"norm {one}" for one in row.split()] for rank, row in enumerate((mine, theirs))}
    assert RELATIONS["drifts"](column("norm", said)) is drifts


@pytest.mark.parametrize(("sizes", "changes"), [("4 3", True), ("4 4", False), ("4 3 4", False), ("4 4 2 2", True)])
def test_a_number_that_is_another_from_some_line_on_changes(sizes: str, changes: bool) -> None:
    """A job that was started again with other ranks says another world size from then on."""
    assert RELATIONS["changes"](column("world", {0: [f"world {one}, starting" for one in sizes.split()]})) is changes


@pytest.mark.parametrize(
    ("trained", "behind"),
    [("0.41 0.29 0.24 0.22", True), ("0.41 0.43 0.42 0.40", False), ("0.41 0.41 0.41 0.41", False)],
)
def test_what_never_changes_beside_its_like_that_learns_is_left_behind(trained: str, behind: bool) -> None:
    """An average of the weights that is not kept up stays where it was while the model learns; else nothing learns."""
    for line, name in (
        ("epoch {} | val mse {} | ema mse 1.2508 | took {}.5s", "ema mse"),
        ('{{"epoch": {}, "val_mse": {}, "ema_mse": 1.2508, "took": {}.5}}', "ema_mse"),
    ):
        one = column(name, {0: [line.format(n, said, n) for n, said in enumerate(trained.split())]})
        assert (RELATIONS["left-behind"](one), RELATIONS["constant"](one)) == (behind, not behind)


@pytest.mark.parametrize(
    ("updates", "behind"),
    [([8, 16, 24, 32], False), ([8, 16, 24, 31], True), ([4, 8, 12, 16], False), ([8, 16, 24, 12], False)],
)
def test_updates_that_keep_up_and_then_do_not_fall_behind(updates: list[int], behind: bool) -> None:
    """Updates fall behind the batches of the same lines where they had kept up; accumulation never keeps up."""
    said = {0: [f"batch {8 * (row + 1)} updates {count} loss 0.{row}1" for row, count in enumerate(updates)]}
    assert RELATIONS["falls-behind"](column("updates", said)) is behind
    assert not RELATIONS["falls-behind"](column("batch", said))


@pytest.mark.parametrize(
    ("rates", "over", "again"),
    [
        ([1, 2, 3, 4, 3, 2, 1, 2, 3, 4, 3], True, False),
        ([5, 4, 3, 2, 1, 0, 0, 2, 3, 4, 5], False, True),
        ([5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0], False, False),
    ],
)
def test_a_schedule_that_starts_over_or_rises_again(rates: list[int], over: bool, again: bool) -> None:
    """A warm-up that comes twice starts over; a rate that comes back after it had fallen to nothing rises again."""
    one = column("lr", {0: [f"step {step} lr {rate / 1000}" for step, rate in enumerate(rates)]})
    assert (RELATIONS["starts-over"](one), RELATIONS["rises-again"](one)) == (over, again)


@pytest.mark.parametrize("line", ['{{"step": {}, "lr": {}}}', "{{'step': {}, 'lr': '{}'}}", "step {} lr {}"])
def test_numbers_of_json_and_of_dictionaries_are_columns(line: str) -> None:
    """The name of a number stands beside it, however the program quotes it."""
    assert RELATIONS["ends-at-zero"](
        column("lr", {0: [line.format(step, max(0, 0.003 - 0.001 * step)) for step in range(8)]})
    )


def test_ranks_are_compared_at_the_same_count() -> None:
    """A line that one rank did not print shifts nothing: rows are of one step, and the step itself never differs."""
    said = {
        rank: [f"step {step} norm {3.5 + step / 8:.4f}" for step in STEPS if (rank, step) != (1, 0)] for rank in (0, 1)
    }
    assert not RELATIONS["differs"](column("norm", said))
    assert not RELATIONS["differs"](column("step", said))
    said[1][-1] = said[1][-1].replace("norm 4", "norm 5")
    assert RELATIONS["differs"](column("norm", said))


@pytest.mark.parametrize(
    ("said", "far"),
    [
        (("vocab.txt: 2531 words", "vocab.txt: 5400 words"), True),
        (("vocab.txt: 5399 words", "vocab.txt: 5400 words"), False),
        (("shard 0: 2531 words", "shard 1: 5400 words"), False),
        (("read in 3 seconds", "read in 9 seconds"), False),
    ],
)
def test_far_apart_counts_are_of_one_thing_and_said_once(said: tuple[str, str], far: bool) -> None:
    """Counts are far apart where nothing else in their lines differs; a remainder, a shard's and a time are not."""
    found = columns(spoken({rank: [text] for rank, text in enumerate(said)}))
    assert any(RELATIONS["far-apart"](one) for one in found) == far
    assert any(one.context.startswith("once: ") for one in found) == ("seconds" not in said[0])


@pytest.mark.parametrize(
    ("rates", "early"),
    [
        ([0.05, 0.05, 0.01, 0.002, *[0.002] * 6], True),
        ([*[0.05] * 5, 0.01, 0.01, 0.002, 0.002, 0.002], False),
        ([0.01, 0.03, 0.05, *[0.05] * 7], False),
        ([0.05 - 0.005 * step for step in range(10)], False),
    ],
    ids=["early", "late", "warm-up", "to the end"],
)
def test_a_schedule_that_ends_early_settles(rates: list[float], early: bool) -> None:
    """A rate that falls in steps in the first half and then never again settles early; a warm-up does not fall."""
    said = {0: [f"epoch {step} lr {rate:.4f} loss {1 / (step + 1):.3f}" for step, rate in enumerate(rates)]}
    assert RELATIONS["settles-early"](column("lr", said)) == early


@pytest.mark.parametrize(("rss", "growing"), [(range(300, 700, 40), True), ([300, 310] * 5, False)])
def test_memory_that_rises_in_nearly_every_line_grows(rss: list[int], growing: bool) -> None:
    """A leak rises from line to line and to half as much again; what goes up and down does not."""
    said = {0: [f"step {step} rss {megabytes} MB" for step, megabytes in enumerate(rss)]}
    assert RELATIONS["grows"](column("rss", said)) == growing


def test_a_zero_in_the_last_words_of_one_rank() -> None:
    """One rank that had none of what the others had is told by its last line, and by no earlier one."""
    said = {rank: [f"batch 0: {3 - rank} with boxes", f"batch 1: {rank} with boxes"] for rank in range(3)}
    by_context = {one.context: RELATIONS["ends-alone-at-zero"](one) for one in columns(spoken(said))}
    assert [context for context, alone in by_context.items() if alone] == [f"batch #: {MARK} with boxes"]
    gone_on = {rank: [*texts, "saved"] for rank, texts in said.items()}
    assert not any(map(RELATIONS["ends-alone-at-zero"], columns(spoken(gone_on))))
    of_regions = {rank: [f"region {rank} batch {step}" for step in (1, 2)] for rank in range(3)}
    assert not any(map(RELATIONS["ends-alone-at-zero"], columns(spoken(of_regions))))


def test_a_rate_that_swings_rises_again_even_to_a_higher_top() -> None:
    """A cosine that is stepped too often comes back, and may stand higher at a later line than before its low."""
    rates = [0.93, 0.58, 0.17, 0.0, 0.17, 0.58, 0.93, 0.99, 0.75]
    said = {0: [f"step {step} lr {rate:.4f}" for step, rate in enumerate(rates)]}
    assert RELATIONS["rises-again"](column("lr", said))
    assert not RELATIONS["rises-again"](column("lr", {0: [f"step {s} lr {r:.4f}" for s, r in enumerate(rates[3:])]}))


def test_the_ends_of_a_range_are_no_counts_that_differ() -> None:
    """Every rank has its own part of the data, and says from where to where it goes."""
    said = {rank: [f"records {rank}..{7197 + rank}, 2400 in all"] for rank in range(3)}
    assert not any(map(RELATIONS["differs"], columns(spoken(said))))


@pytest.mark.parametrize(
    ("norms", "in_groups"),
    [
        ((1.2345, 1.2345, 7.8912, 7.8912), True),
        ((1.2345, 7.8912, 1.2345, 7.8912), True),
        ((1.2345, 1.2345, 1.2345, 7.8912), False),
        ((1.2345, 1.2345, 1.2345, 1.2345), False),
        ((1.2345, 2.3456, 3.4567, 4.5678), False),
        ((1.2, 1.2, 7.8, 7.8), False),
        ((1.23, 1.23, 7.81, 7.81), True),
        ((1.2345, 7.8912), False),
    ],
)
def test_weights_that_agree_in_groups(norms: tuple[float, ...], in_groups: bool) -> None:
    """Groups of one size, each with its own precise numbers; one odd rank, or two ranks that differ, are no groups."""
    said = {
        rank: [f"step {step} model norm {norm + step:.{len(str(norm)) - 2}f}" for step in STEPS]
        for rank, norm in enumerate(norms)
    }
    assert RELATIONS["agrees-in-groups"](column("norm", said)) == in_groups
