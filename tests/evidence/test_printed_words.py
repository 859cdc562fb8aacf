"""The words of what a run printed: each kind of line once, what the program says and not what libraries do."""

from __future__ import annotations

import random
import string

from distkb.evidence.text.printed import CHARACTERS, LINES, printed_kinds, sentences, written_kinds

OUTPUT = """[rank0]: epoch 3 step 120 loss 0.4312
[rank0]: epoch 3 step 130 loss 0.4127
torch/distributed/run.py:766] Setting OMP_NUM_THREADS environment variable for each process
Traceback (most recent call last):
  File "/home/u/serve/train.py", line 88, in exchange_scores
    gather_all(scores, group=judges)
  File "/opt/env/lib/python3.11/site-packages/torch/distributed/c10d.py", line 402, in wrapper
    return func(*args, **kwargs)
ValueError: unequal shares
"""


def printed_words(lines: list[str]) -> str:
    """The kinds of lines as sentences."""
    return sentences(printed_kinds((line, None) for line in lines))


def test_a_kind_of_line_counts_once_whatever_its_numbers() -> None:
    """Two steps with other numbers are one kind of line."""
    assert printed_words(OUTPUT.splitlines()).count("loss") == 1


def test_the_program_speaks_and_libraries_do_not() -> None:
    """Functions and code of the user's frames are kept; those of libraries, and what the launcher prints, are not."""
    words = printed_words(OUTPUT.splitlines())
    assert "exchange_scores" in words
    assert "gather_all" in words
    assert "unequal shares" in words
    assert "wrapper" not in words
    assert "return func" not in words
    assert "OMP" not in words


def test_any_text_gives_a_bounded_number_of_words() -> None:
    """Whatever stands in a log, no more of it is compared than was agreed on."""
    source = random.Random(4)
    alphabet = string.printable + "가나다\x00\ud800"
    for _ in range(50):
        lines = ["".join(source.choices(alphabet, k=source.randrange(200))) for _ in range(source.randrange(900))]
        assert len(printed_words(lines)) <= CHARACTERS + 1
        assert len(written_kinds((line, None) for line in lines)) <= LINES


def test_a_kind_of_line_has_the_place_of_its_first_line() -> None:
    """What is quoted for a kind of line is the first one of its kind."""
    kinds = printed_kinds((line, number) for number, line in enumerate(OUTPUT.splitlines(), 1))
    assert {place for kind, place in kinds.items() if "loss" in kind} == {1}
