"""What the ranks said of their work, side by side."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_samples import TEXTS, lines, spoken

from distkb.evidence.run.otherwise import other_names, other_places, other_words
from distkb.evidence.run.sayings import (
    alone,
    by_members,
    decided_apart,
    last_differ,
    new_at_end,
    renamed,
    say,
)

SAID = st.dictionaries(st.integers(0, 5), st.lists(TEXTS, min_size=1, max_size=8), min_size=1, max_size=5)


@given(TEXTS)
def test_any_line_can_be_taken_apart(text: str) -> None:
    """A line comes apart into a template and as many numbers as the template has places for."""
    (line,) = lines(text)
    said = say(line)
    assert said.line is line
    assert said.template.count("#") >= len(said.numbers)
    assert not any(character.isdecimal() and character.isascii() for character in said.template)


@given(st.integers(0, 9999), st.integers(0, 9999), st.sampled_from(["rank {}: ", "[rank {}] ", "rank={} ", "[{}/16] "]))
def test_the_number_of_the_rank_is_no_number_of_the_line(one: int, other: int, label: str) -> None:
    """Two ranks that say the same thing say the same template and the same numbers."""
    mine, theirs = (say(lines(label.format(rank) + "step 7 loss 0.25")[0]) for rank in (one, other))
    assert (mine.template, mine.numbers) == (theirs.template, theirs.numbers)
    assert mine.numbers == ("7", "0.25")


@pytest.mark.parametrize(
    "text", ["12:00:01 step 7 loss 0.25", "2026-11-23 12:00:01,250 INFO step 7 loss 0.25", "[INFO] step 7 loss 0.25"]
)
def test_time_and_level_are_no_part_of_what_is_said(text: str) -> None:
    """Numbers of a line are those that the program says, not those of the clock before it."""
    assert say(lines(text)[0]).numbers == ("7", "0.25")


@given(SAID)
def test_what_everyone_says_is_said_by_nobody_alone(said: dict[int, list[str]]) -> None:
    """No line that all ranks printed is one that a few printed alone, unless one came further with it than the rest."""
    talking = spoken(said)
    everyone = frozenset[str]().union(*(talk.templates for talk in talking)) if talking else frozenset()
    for talk in talking:
        everyone &= talk.templates
    assert not everyone & {one.saying.template for one in alone(talking) if not one.again}


@given(SAID)
def test_what_is_said_alone_was_said_and_last_words_come_first(said: dict[int, list[str]]) -> None:
    """Each line alone is one of its rank's own lines, said once, and last words stand before the others."""
    found = alone(spoken(said))
    for one in found:
        assert one.saying.line.text in said[one.process.rank or 0]
    assert len({(one.process.key, one.saying.template) for one in found}) == len(found)
    assert [one.last for one in found] == sorted((one.last for one in found), reverse=True)


def test_the_last_word_of_one_rank_is_found() -> None:
    """What one rank of several said after their last common line are its last words."""
    said = {rank: ["step 1 loss 2.0", "step 2 loss 1.9"] for rank in range(4)}
    said[2] = [*said[2], "no more batches"]
    (found,) = alone(spoken(said))
    assert (found.process.rank, found.saying.line.text, found.last) == (2, "no more batches", True)


def test_what_a_rank_says_after_every_epoch_are_no_last_words() -> None:
    """The line that rank 0 has printed for all before, and went on after, says nothing when a run ends behind it."""
    steps = [f"step {step} loss 0.5" for step in range(5)]
    said = {rank: list(steps) for rank in range(4)}
    said[0] = [text for step, text in enumerate(steps) for text in (text, f"epoch {step} done, accuracy 0.9")]
    assert alone(spoken(said)) == ()


def test_what_rank_0_says_for_the_first_time_are_its_last_words() -> None:
    """Of a rank that prints for all, what it had never said before still counts at the end."""
    steps = [f"step {step} loss 0.5" for step in range(5)]
    said = {rank: list(steps) for rank in range(4)}
    said[0] = [text for step, text in enumerate(steps) for text in (text, f"epoch {step} done, accuracy 0.9")]
    said[0].append("writing the checkpoint")
    assert [(one.saying.line.text, one.last) for one in alone(spoken(said))] == [("writing the checkpoint", True)]


def test_ranks_that_have_nothing_in_common_are_not_compared() -> None:
    """One rank alone, or ranks that print different things, say nothing alone."""
    assert alone(spoken({0: ["step 1"]})) == ()
    assert alone(spoken({0: ["hello"], 1: ["world"]})) == ()


def test_a_group_that_only_its_members_speak_of() -> None:
    """Lines that name the ranks of a group tell of it where these ranks printed them and nobody else did."""
    everyone = [f"group node0 = {[0, 1]}", f"group node1 = {[2, 3]}"]
    said = {rank: [*everyone, *([f"group heads = {[0, 2]}"] if rank in {0, 2} else [])] for rank in range(4)}
    assert [process.rank for process, _ in by_members(spoken(said))] == [0, 2]
    assert by_members(spoken(dict.fromkeys(range(4), everyone))) == ()


def test_columns_of_blanks_make_no_other_line() -> None:
    """Numbers of other lengths in a table that is filled up with blanks stand in the same line."""
    one, other = (say(line) for line in lines("lr 0.05      train 0.1", "lr 0.002     train 0.2"))
    assert one.template == other.template == "lr # train #"


@pytest.mark.parametrize(
    ("ends", "same"),
    [
        (("worker 0 | confusion damage: 200 images", "worker 1 | confusion species: 200 images"), True),
        (("step 3 validation loss 0.5", "step 3 loss 0.7"), False),
    ],
)
def test_last_lines_that_name_another_thing_differ_in_one_word(ends: tuple[str, str], same: bool) -> None:
    """Ranks that do one thing in another order print one line with another name; others are only elsewhere."""
    assert renamed(last_differ(spoken({rank: [text] for rank, text in enumerate(ends)}))) == same


def test_a_decision_that_ranks_do_not_share_is_found() -> None:
    """Of one epoch a rank says that it saves, as the other did an epoch before, and the other does not."""
    saved, kept = "epoch 1 acc 0.7 best 0.6 -> saving", "epoch 2 acc 0.7 best 0.8"
    said = {0: [saved, kept], 1: [saved, "epoch 2 acc 0.9 best 0.7 -> saving"]}
    assert [process.rank for process, _ in decided_apart(spoken(said))] == [1, 0]
    assert decided_apart(spoken({0: [saved, kept], 1: [saved, "epoch 3 acc 0.9 best 0.7 -> saving"]})) == ()
    assert decided_apart(spoken({0: ["epoch 1 loss 0.5 -> saving"], 1: ["epoch 1 loss 0.5"]})) == (), "rank 0 saves"


def test_the_same_numbers_under_other_names_are_found() -> None:
    """Two ranks that sum values in different orders have the same sums under each other's names."""
    mine, theirs = "totals: jazz=247 blues=311 metal=421", "totals: blues=247 metal=311 jazz=421"
    assert [process.rank for process, _ in other_names(spoken({0: [mine], 1: [theirs]}))] == [0, 1]
    assert other_names(spoken({0: [mine], 1: ["totals: jazz=247 blues=311 metal=421"]})) == ()
    assert other_names(spoken({0: [mine], 1: ["totals: blues=250 metal=311 jazz=421"]})) == ()


def test_a_line_of_a_new_kind_at_the_end_is_news() -> None:
    """Where a voice with a rhythm ends with something it never said before, it has begun something else."""
    steps = [f"step {step} loss 0.5" for step in range(4)]
    assert [line.text for _, line in new_at_end(spoken({0: [*steps, "gallery of 40 tiles"]}))] == [
        "gallery of 40 tiles"
    ]
    assert new_at_end(spoken({0: steps})) == ()
    assert new_at_end(spoken({0: [*steps, "epoch over"], 1: ["epoch over"]})) == (), "everyone says so"
    assert new_at_end(spoken({0: ["loading", "wrapped"]})) == (), "it has no rhythm"


def test_paths_that_only_one_name_tells_apart_are_found() -> None:
    """Two ranks that each made up a name for the run write into two folders."""
    wrote = "wrote ../runs/{}/checkpoint-10 with loss 1.4"
    found = other_places(spoken({0: [wrote.format("brisk-gecko")], 1: [wrote.format("calm-egret")]}))
    assert [process.rank for process, _ in found] == [0, 1]
    assert other_places(spoken({0: [wrote.format("rank0")], 1: [wrote.format("rank1")]})) == ()
    assert other_places(spoken({0: [wrote.format("a")], 1: ["read ../runs/b/checkpoint-10 with loss 1.4"]})) == ()


@pytest.mark.parametrize(
    ("said", "values", "words"),
    [
        ("model sharded, mixed precision: {}", ("bf16", "no"), [("bf16", "no")]),
        ("rank {} says hello there", ("0", "1"), []),
        ("reads {}/part.bin of all", ("here", "there"), []),
        ("{} samples were read", ("12", "13"), []),
    ],
)
def test_words_that_ranks_say_otherwise(said: str, values: tuple[str, ...], words: list[tuple[str, ...]]) -> None:
    """A word differs where each rank said the line once and nothing else differs; numbers and paths are no words."""
    found = other_words(spoken({rank: ["step 1 loss 2.0", said.format(value)] for rank, value in enumerate(values)}))
    assert [tuple(one.word for one in group) for group in found] == words
