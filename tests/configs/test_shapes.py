"""Shapes of values: how they are written, and which values have them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from distkb.catalogue.settings import Block, Refusal
from distkb.catalogue.shapes import parse
from distkb.evidence.readers.configs import read_configs

TAKEN: dict[str, list[Any]] = {
    "int>0": [1, "2", None],
    "number>=0<=1": [0, 0.5, 1, "0.25"],
    "number>=0.1": [0.1, 3],
    "bool|=auto": [True, "yes", "auto"],
    "=dpo|=kto": ["kto", None],
    "list:text": [["a", "b"], []],
    "list:block|text": [[{"a": 1}], "a"],
}
REFUSED: dict[str, list[Any]] = {
    "int>0": [0, 1.5, "many", [1]],
    "number>=0<=1": [-0.1, 1.01],
    "number>=0.1": [0.05],
    "bool|=auto": ["AUTO", 3],
    "=dpo|=kto": ["KTO", "ppo", True],
    "list:text": ["a", [1], {"a": 1}],
    "list:block|text": [["a"], 1],
}


def _found(tmp_path: Path, shape: str, value: Any) -> list[str]:
    refusal = Refusal(
        id="axolotl",
        tool="axolotl",
        kinds=("axolotl",),
        blocks=(Block(keys={"seed": shape}), Block(path="datasets[]", keys={"seed": shape})),
        references=(),
    )
    texts = [{"seed": value}, {"datasets": [{}, {"seed": value}]}]
    found: list[str] = []
    for number, text in enumerate(texts):
        path = tmp_path / f"{number}.yaml"
        path.write_text(json.dumps({"base_model": "a", "num_epochs": 1, **text}), encoding="utf-8")
        found += [one.id for one in read_configs([path], (), {}, refusals=[refusal]).observations]
    return found


@pytest.mark.parametrize("shape", TAKEN)
def test_a_value_of_its_shape_is_quiet(tmp_path: Path, shape: str) -> None:
    """Null too, where a block says nothing else."""
    assert [value for value in TAKEN[shape] if _found(tmp_path, shape, value)] == []


@pytest.mark.parametrize("shape", REFUSED)
def test_a_value_of_another_shape_is_found_in_the_file_and_in_a_list(tmp_path: Path, shape: str) -> None:
    """A word that is none of those that may stand there is an unknown value, all else of the wrong kind."""
    for value in REFUSED[shape]:
        has_words = any(one.kind == "word" for one in parse(shape))
        kind = "unknown-value" if has_words and isinstance(value, str) else "wrong-type"
        assert _found(tmp_path, shape, value) == [f"config.trainer-{kind}"] * 2, value


@pytest.mark.parametrize("text", ["", "int>", "number<1", "list:many", "=", "int|", "text!"])
def test_what_is_no_shape_is_refused(text: str) -> None:
    """`kb check` reports it instead of a key whose values are never looked at."""
    assert parse(text) == ()
