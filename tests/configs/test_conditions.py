"""Conditions on the settings of a file: how they are written, and when they hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from distkb.catalogue.conditions import parse
from distkb.evidence.readers.configs.conditions import holds
from distkb.evidence.readers.configs.item import ConfigPart
from distkb.evidence.readers.configs.load import load_parts

FILE = """base_model: a
micro_batch_size: 6
num_epochs: 4
adapter: QLoRA
bf16: true
nothing: null
save_strategy: 'no'
several: a, b, c
same: '4'
open: *base
datasets:
- type: chat_template
- type: alpaca
nodes: '4:2'
top:
  first: {rate: 1}
block:
  inner: 0
  other: 2
"""
HOLD = """
bf16; bf16=true; adapter!block; save_strategy; micro_batch_size; block.inner?; block.other; adapter=lora|qlora
adapter!=lora|full; adapter~lor; adapter^=ql; micro_batch_size>5; micro_batch_size<7; micro_batch_size%num_epochs
micro_batch_size<>num_epochs; micro_batch_size>num_epochs; num_epochs<micro_batch_size*block.other; several#>2
datasets[].type=alpaca; datasets#>1; block{}=inner; block{}!=other; not absent
not block.inner; datasets[].type!=alpaca
nothing=null; micro_batch_size%4; datasets[]{}=type; datasets[].type#>1; not datasets[].path#>0
nodes:0>nodes:1; adapter!/lora/; top{}.rate>0; nodes:1=2
"""
FAIL = """
absent; absent?; absent!=a; absent>0; absent<1; nothing; nothing?; block.inner; not bf16; adapter=lora; adapter!=qlora
micro_batch_size>6; micro_batch_size*num_epochs%block.other; datasets#>2; adapter>1; micro_batch_size%absent
micro_batch_size<>absent; num_epochs>micro_batch_size; num_epochs>absent; same<>num_epochs; open.inner; open.inner?
not open.inner; several#<3; adapter!regex; block!block
absent=null; adapter=null; micro_batch_size%3; micro_batch_size%0.5; datasets[]{}!=type; datasets[].type#<>datasets#
nodes:0<nodes:1; nodes:2?; nodes!/[0-9:]+/; absent!/a/; adapter!/QLo.*/; top{}.absent?
"""


@pytest.fixture
def part(tmp_path: Path) -> ConfigPart:
    """Return a training file of axolotl, read."""
    path = tmp_path / "axolotl.yaml"
    path.write_text(FILE, encoding="utf-8")
    return load_parts(path)[0]


@pytest.mark.parametrize(("texts", "expected"), [(HOLD, True), (FAIL, False)])
def test_a_condition_holds_as_its_table_says(part: ConfigPart, texts: str, expected: bool) -> None:
    """Every way of writing one, on a file that meets it and on what it does not have."""
    for text in texts.strip().replace("\n", "; ").split("; "):
        condition = parse(text)
        assert condition is not None, text
        assert holds(condition, part) is expected, text


@pytest.mark.parametrize("text", ["", "a b", "a=", "a>", "a%", "a!what", "a=|b", "1a", "a..b", "a*b=c", "a!/(/"])
def test_what_is_no_condition_is_refused(text: str) -> None:
    """`kb check` reports it instead of a rule that never holds."""
    assert parse(text) is None
