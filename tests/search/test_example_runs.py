"""The statistics of example runs: which cause's runs print such words and are written so."""

from __future__ import annotations

import msgspec
from search_catalogue import catalogue

from distkb.catalogue.account import ExampleRun
from distkb.catalogue.model import Catalogue
from distkb.evidence.text import printed
from distkb.search.affinity import damped_words
from distkb.search.index import Index, build, load
from distkb.search.runs import MARKS

LOG = "carousel of the loader turns, lap {}, drawers left 12"
CODE = "for drawer in carousel.drawers():\n    turn(drawer)"


def with_runs(plain: Catalogue, *causes: str) -> Index:
    """An index in which each of some causes has two runs about carousels."""
    runs = tuple(ExampleRun(cause=cause, log=LOG.format(lap), code=CODE) for cause in causes for lap in (3, 4))
    return load(build(msgspec.structs.replace(plain, runs=runs)))


def test_the_words_of_a_run_draw_to_the_cause_of_such_runs() -> None:
    """What only one cause's runs print speaks for it, and what they print of everything for none."""
    plain = catalogue()
    first, second = (entry.causes[0].id for entry in plain.entries[:2])
    runs = [ExampleRun(cause=first, log=LOG.format(lap), code=CODE) for lap in (3, 4)]
    runs += [ExampleRun(cause=second, log=f"step {lap} loss 0.5 of the kettle", code="kettle.boil()") for lap in (3, 4)]
    index = load(build(msgspec.structs.replace(plain, runs=tuple(runs))))
    sums = dict(zip(index.runs.causes, index.runs.weigh(damped_words(index, "drawers of a carousel")), strict=True))
    assert sums[first] > 0.0 > sums[second]
    assert set(index.runs.weigh(damped_words(index, "an unheard of giraffe"))) == {0.0}


def test_two_causes_of_one_entry_are_told_apart() -> None:
    """Words of one cause's runs speak more for it than for its neighbour in the same entry, and for both a little."""
    plain = catalogue()
    first, other, *rest = plain.entries
    mine, neighbour = first.causes[0].id, f"{first.id}.z"
    first = msgspec.structs.replace(
        first, causes=(*first.causes, msgspec.structs.replace(first.causes[0], id=neighbour))
    )
    plain = msgspec.structs.replace(plain, entries=(first, other, *rest))
    runs = [ExampleRun(cause=mine, log=LOG.format(lap), code=CODE) for lap in (3, 4)]
    for cause in (neighbour, other.causes[0].id):
        runs += [ExampleRun(cause=cause, log=f"kettle {lap} boils", code="kettle.boil()") for lap in (3, 4)]
    index = load(build(msgspec.structs.replace(plain, runs=tuple(runs))))
    sums = dict(zip(index.runs.causes, index.runs.weigh(damped_words(index, "carousel drawers")), strict=True))
    assert sums[mine] > sums[neighbour] > sums[other.causes[0].id]


def test_a_word_of_one_run_alone_says_nothing() -> None:
    """The subject of a single run, its names and its data, must not lead to its cause."""
    plain = catalogue()
    cause = plain.entries[0].causes[0].id
    runs = tuple(ExampleRun(cause=cause, log=f"carousel {word}", code=CODE) for word in ("whales", "parking"))
    index = load(build(msgspec.structs.replace(plain, runs=runs)))
    assert set(index.runs.weigh(damped_words(index, "whales"))) == {0.0}


def test_example_runs_lose_what_the_lines_of_a_run_lose() -> None:
    """Both leave out the same marks, or the words of the one would not be those of the other."""
    assert MARKS == printed.MARKS


def test_a_run_of_no_cause_is_left_out() -> None:
    """A run whose entry did not load must change nothing."""
    plain = catalogue()
    assert with_runs(plain, "X99.a").runs.causes == ()
    cause = plain.entries[0].causes[0].id
    assert with_runs(plain, cause, "X99.a").runs == with_runs(plain, cause).runs
