"""What takes most of a step, and steps that become slower."""

from __future__ import annotations

import re

import built_in
import pytest
from run_samples import spoken
from test_relations import column

from distkb.evidence.run.paces import slower
from distkb.evidence.run.relations import RELATIONS

STEPS = range(8)


@pytest.mark.parametrize(
    ("line", "word", "most"),
    [
        ("step {} data 301 ms forward 20 ms backward 41 ms", "data", True),
        ("step {} data 22 ms forward 20 ms backward 41 ms", "data", False),
        ("step {} data 301 ms forward 20 ms backward 41 ms", "forward", False),
        ("step {} data_time 0.31 time 0.36 loss 0.9", "data_time", True),
        ("step {} data_time 0.02 time 0.36 loss 0.9", "data_time", False),
        ("step {} data 0.31 loss 0.09", "data", False),
        ("step {} data 3 batches 1", "data", False),
    ],
)
def test_a_time_that_is_most_of_its_line(line: str, word: str, most: bool) -> None:
    """It is several times every other part, or most of a whole that the line tells too; other numbers do not count."""
    said = {rank: [line.format(step) for step in STEPS] for rank in (0, 1)}
    assert RELATIONS["takes-most"](column(word, said)) is most


@pytest.mark.parametrize(
    ("name", "word", "line", "told"),
    [
        ("takes-most.forward", "forward", "step {} data 1 ms forward 186 ms backward 7 ms", True),
        ("takes-most.forward", "forward", "step {} data 1 ms forward 186 ms optimizer 7 ms", False),
        ("stands-out.time", "fwd", "step {} data 0 ms fwd 48 ms bwd 34 ms", True),
        ("stands-out.time", "fwd", "it {} data    0 fwd    48 bwd    34 opt   4 ms", True),
        ("stands-out.time", "fwd", "it {} fwd 48 items bwd 34", False),
    ],
)
def test_which_numbers_are_parts_of_a_step(name: str, word: str, line: str, told: bool) -> None:
    """A forward is held against a backward only; the unit of all parts may stand once, behind the last one."""
    (signature,) = [one for one in built_in.catalogue().signatures if one.id == name]
    context = column(word, {0: [line.format(step) for step in STEPS]}).context
    assert (re.search(signature.pattern, context) is not None) is told


@pytest.mark.parametrize(
    ("times", "slow"),
    [
        ([100, 104, 130, 133, 160, 171, 190, 204], True),
        ([100, 104, 103, 101, 102, 104, 100, 101], False),
        ([300, 104, 103, 101, 102, 104, 100, 900], False),
        ([100, 200], False),
        ([85, 251, 452, 564], True),
        ([85, 90, 95, 120], False),
        ([85, 451, 252, 564], False),
    ],
)
def test_a_time_that_rises_slows(times: list[int], slow: bool) -> None:
    """It rises from quarter to quarter of the lines, and by more than half; one slow step is none of that."""
    said = {0: [f"step {step} took {time} ms" for step, time in enumerate(times)]}
    assert RELATIONS["slows"](column("took", said)) is slow


def bar(count: int, seconds: int) -> str:
    """What tqdm shows."""
    return f"epoch 0:  6%|#   | {count}/900 [{seconds // 60:02d}:{seconds % 60:02d}<01:25,  3.69it/s, loss=5.2]"


@pytest.mark.parametrize(
    ("seconds", "slow"),
    [
        ([0, 5, 12, 22, 36, 54, 80], True),
        ([0, 2, 5, 10, 14, 21, 27], True),
        ([0, 10, 20, 30, 40, 50, 60], False),
        ([0, 5, 10, 15, 50, 55, 60], False),
        ([0, 1, 2, 3, 5, 7, 10], False),
    ],
)
def test_a_bar_whose_steps_take_longer_and_longer(seconds: list[int], slow: bool) -> None:
    """The first and the last line are given; not for a steady bar, one pause, or a few seconds."""
    rows = [bar(20 * at, second) for at, second in enumerate(seconds)]
    found = slower(spoken({0: ["begin", *rows, "end"]}))
    assert [line.text for _, line in found] == ([rows[0], rows[-1]] if slow else [])


def test_a_bar_is_compared_with_itself_only() -> None:
    """Where the next epoch's bar begins, what came before is another bar."""
    fast = [bar(20 * at, 2 * at) for at in range(7)]
    slow = [bar(20 * at, 20 * at) for at in range(7)]
    assert not slower(spoken({0: [*fast, *slow]}))
