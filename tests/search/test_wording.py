"""The statistics of words: what accounts of a failure teach, and what they may not do."""

from __future__ import annotations

import math
from itertools import pairwise

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from search_catalogue import catalogue

from distkb.catalogue.account import Account
from distkb.search.affinity import damped_words
from distkb.search.index import build, load
from distkb.search.wording import CAP, weights

STORY = "The coffee machine of the cluster room blinks and the loader carousel turns without end."


def test_an_account_draws_its_words_to_its_entry() -> None:
    """Words that only an account of one entry has must speak for that entry more than for any other."""
    plain = catalogue()
    told = msgspec.structs.replace(plain, accounts=(Account(cause=f"{plain.entries[0].id}.a", lang="en", text=STORY),))
    index = load(build(told))
    words = damped_words(index, "a blinking coffee machine, a carousel")
    sums = dict(zip(index.ids, index.wording.weigh(words), strict=True))
    assert max(sums, key=lambda entry: sums[entry]) == plain.entries[0].id
    assert set(load(build(plain)).wording.weigh({"carousel": 1.0})) == {0.0}


def test_an_account_of_no_entry_is_left_out() -> None:
    """An account whose entry did not load must change nothing."""
    plain = catalogue()
    told = msgspec.structs.replace(plain, accounts=(Account(cause="X99.a", lang="en", text=STORY),))
    assert build(told) == build(plain)


@given(st.dictionaries(st.text(max_size=3), st.floats(-1e6, 1e6), max_size=6))
def test_weights_are_bounded_and_keep_the_order(sums: dict[str, float]) -> None:
    """Weights must stay within the cap and never turn the order of the sums around."""
    found = weights(sums)
    assert all(-CAP <= weight <= CAP and math.isfinite(weight) for weight in found.values())
    ordered = sorted(sums, key=lambda key: sums[key])
    assert all(found[one] <= found[other] + 1e-9 for one, other in pairwise(ordered))
