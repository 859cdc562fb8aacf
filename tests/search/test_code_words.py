"""What stands in code, as words that programs which do the same have in common."""

from __future__ import annotations

import ast
import textwrap

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from search_catalogue import catalogue

from distkb.catalogue.account import ExampleProject, ExampleRun
from distkb.search.code_words import code_words, file_words, setting_words, tree_words
from distkb.search.index import build, load

SAVES = """
def save(model, rank):
    if rank == 0:
        torch.save(model.state_dict(), "a.pt")
        dist.barrier()
"""
TRAINS = """
for batch in loader:
    model(batch).backward()
    optimizer.step()
"""


@given(st.text(max_size=200))
def test_no_text_is_refused(text: str) -> None:
    """What is no Python is taken by its settings, and no word is empty."""
    assert all(code_words(text))
    assert all(setting_words(text))


def test_where_a_call_is_made_and_after_what_is_a_word() -> None:
    """A call under a test of the rank, one in a loop, and two that follow each other have words that say so."""
    words = code_words(SAVES) | code_words(TRAINS)
    assert {"under:rank:barrier", "then:save>barrier", "under:loop:step", "then:backward>step"} <= words
    assert "under:loop:barrier" not in words
    assert "under:not-rank:wait" in code_words("if rank == 0:\n    go()\nelse:\n    wait()\n")


def test_options_and_settings_are_words() -> None:
    """An option counts with its value and without, in a call and on a command line; a setting where it is set."""
    assert {"option:DataLoader.shuffle", "option:DataLoader.shuffle=True"} <= code_words("DataLoader(d, shuffle=True)")
    assert "option:--nnodes=2" in file_words("run.sh", "torchrun --nnodes 2 train.py")
    assert "set:stage:3" in file_words("zero.yaml", "stage: 3")


def test_what_is_called_on_a_variable_is_a_word_whatever_its_name() -> None:
    """Programs that differ in the names of their variables share the words of what they call on them."""
    renamed = TRAINS.replace("batch", "x").replace("loader", "data").replace("model", "net").replace("optimizer", "sgd")
    assert {"call:backward", "under:loop:step", "then:backward>step"} <= code_words(TRAINS) & code_words(renamed)


@pytest.mark.parametrize("text", [textwrap.indent(TRAINS, "    "), "return rank\n" + TRAINS, "x = \\\n"])
def test_lines_out_of_a_program_have_words(text: str) -> None:
    """Lines that are indented, that stand in a function, or that are cut off are code, too."""
    assert code_words(text)


def test_code_that_is_nested_without_end_gives_what_was_found() -> None:
    """A tree that is too deep to be walked ends the words, and nothing else."""
    deep: ast.expr = ast.Name("x")
    for _ in range(5000):
        deep = ast.Call(func=deep, args=[], keywords=[])
    tree = ast.Module(body=[ast.parse("import torch").body[0], ast.Expr(deep)], type_ignores=[])
    assert "import:.torch" in tree_words(tree)


def test_a_program_is_like_the_one_that_calls_the_same() -> None:
    """What the projects and runs of one cause call speaks for it; what only one example has says nothing."""
    plain = catalogue()
    first, second = (entry.causes[0].id for entry in plain.entries[:2])
    made = [(first, SAVES), (first, SAVES + "whales()\n"), (second, TRAINS), (second, TRAINS)]
    projects = tuple(ExampleProject(cause=cause, files={"train.py": code}) for cause, code in made)
    runs = (ExampleRun(cause=first, log="step 1", code=SAVES),)
    index = load(build(msgspec.structs.replace(plain, projects=projects, runs=runs)))
    sums = dict(zip(index.code.causes, index.code.weigh(dict.fromkeys(code_words(SAVES), 1.0)), strict=True))
    assert sums[first] > 0.0 > sums[second]
    assert set(index.code.weigh({"call:whales": 1.0})) == {0.0}
