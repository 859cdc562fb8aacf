"""A model is in low precision when it is sharded, however its type is named, looked up or made the default."""

from __future__ import annotations

from pathlib import Path

import pytest

from distkb.evidence.readers.scripts import read_scripts

LOW = "script.low-precision-before-sharding"
HEAD = """import contextlib, json, yaml
import torch
from torch import nn
from torch.distributed.fsdp import fully_shard
from transformers import AutoModelForCausalLM
class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Linear(width, width)
    def forward(self, x):
        return self.body(x)
"""
TAIL = """
optimizer = torch.optim.AdamW(model.parameters())
model(torch.zeros(2, 8)).sum().backward()
optimizer.step()
"""
MANAGER = """@contextlib.contextmanager
def default_dtype(dtype=torch.float32):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
"""
ENTERED = """class Default:
    def __init__(self, dtype):
        self.dtype = dtype
    def __enter__(self):
        self.before = torch.get_default_dtype()
        torch.set_default_dtype(self.dtype)
    def __exit__(self, *error):
        torch.set_default_dtype(self.before)
"""
BUILD = """def build(dtype):
    with default_dtype(dtype):
        net = Net(8)
    return net
"""
NAMES = "DTYPES = {'bf16': torch.bfloat16, 'fp16': torch.float16, 'fp32': torch.float32}\n"
LOAD = "AutoModelForCausalLM.from_pretrained('x', torch_dtype="
YAML = "cfg = yaml.safe_load(open('conf.yaml'))\n"
JSON = "cfg = json.load(open('conf.json'))\n"
SHARD = "fully_shard(model)"


def found_in(folder: Path, text: str, settings: str = "") -> list[str]:
    """What a script that trains a sharded model is told, with its settings in a file of either kind beside it."""
    (folder / "train.py").write_text(HEAD + text + TAIL)
    if settings:
        (folder / "conf.yaml").write_text(f"model:\n  dtype: {settings}\n  width: 8\n")
        (folder / "conf.json").write_text(f'{{"model": {{"dtype": "{settings}"}}}}')
    observed = read_scripts([folder / "train.py"], follow=True).observations
    return [str(one.quotes[0].text).strip() for one in observed if one.id == LOW]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            f"{MANAGER}with default_dtype(torch.bfloat16):\n    model = Net(8)\n{SHARD}",
            "with default_dtype(torch.bfloat16):",
        ),
        (f"{ENTERED}with Default(torch.half):\n    model = Net(8)\n{SHARD}", "with Default(torch.half):"),
        (
            f"torch.set_default_dtype(torch.bfloat16)\nmodel = Net(8)\n{SHARD}",
            "torch.set_default_dtype(torch.bfloat16)",
        ),
        (f"{MANAGER}{BUILD}model = build(torch.bfloat16)\n{SHARD}", "with default_dtype(dtype):"),
        (f"{MANAGER}{BUILD}model = build(torch.bfloat16).cuda()\n{SHARD}", "with default_dtype(dtype):"),
        (
            "def shard(net):\n    fully_shard(net)\n    return net\nnet = Net(8).half()\nmodel = shard(net)",
            "net = Net(8).half()",
        ),
    ],
)
def test_the_default_type_under_which_a_model_is_made_is_seen(tmp_path: Path, text: str, line: str) -> None:
    """Weights get the type that is the default when they are made: inside of a manager, or below what sets it."""
    assert found_in(tmp_path, text) == [line]


@pytest.mark.parametrize(
    "text",
    [
        f"{MANAGER}with default_dtype(torch.bfloat16):\n    x = 1\nmodel = Net(8)\n{SHARD}",
        f"{MANAGER}with default_dtype(torch.float32):\n    model = Net(8)\n{SHARD}",
        f"{MANAGER}with default_dtype():\n    model = Net(8)\n{SHARD}",
        f"{MANAGER}with default_dtype(torch.bfloat16):\n    model = Net(8)\nmodel.float()\n{SHARD}",
        f"{MANAGER}with default_dtype(torch.bfloat16):\n    model = Net(8).to(torch.float32)\n{SHARD}",
        f"{MANAGER}{BUILD}model = build(torch.float32)\n{SHARD}",
        f"{MANAGER}{BUILD}other = build(torch.bfloat16)\nmodel = build(torch.float32)\n{SHARD}",
        f"torch.set_default_dtype(torch.bfloat16)\ntorch.set_default_dtype(torch.float32)\nmodel = Net(8)\n{SHARD}",
        f"model = Net(8)\ntorch.set_default_dtype(torch.bfloat16)\n{SHARD}",
        "def shard(net):\n    fully_shard(net)\nold = Net(8).half()\nshard(old)\nmodel = Net(8)\nshard(model)",
    ],
)
def test_a_model_that_is_made_in_full_precision_is_not_told_of(tmp_path: Path, text: str) -> None:
    """A manager that was left, that sets fp32, or a model that is cast back before the sharding."""
    assert found_in(tmp_path, text) == []


@pytest.mark.parametrize(
    "text",
    [
        f"{YAML}model = {LOAD}getattr(torch, cfg['model']['dtype']))\n{SHARD}",
        f"{JSON}model = {LOAD}getattr(torch, cfg['model']['dtype']))\n{SHARD}",
        f"{YAML}{NAMES}model = {LOAD}DTYPES[cfg['model']['dtype']])\n{SHARD}",
        f"{JSON}{NAMES}model = Net(8).to(DTYPES.get(cfg['model'].get('dtype')))\n{SHARD}",
        f"{YAML}model = {LOAD}cfg['model']['dtype'])\n{SHARD}",
        f"{YAML}{MANAGER}with default_dtype(getattr(torch, cfg['model']['dtype'])):\n    model = Net(8)\n{SHARD}",
    ],
)
@pytest.mark.parametrize(("written", "low"), [("bfloat16", True), ("float32", False)])
def test_a_type_that_a_settings_file_names_is_followed(tmp_path: Path, text: str, written: str, low: bool) -> None:
    """YAML or JSON says which type it is, in a word that the code looks up or hands to torch."""
    if "DTYPES" in text:
        written = {"bfloat16": "bf16", "float32": "fp32"}[written]
    assert bool(found_in(tmp_path, text, written)) is low


@pytest.mark.parametrize(
    ("settings", "low"),
    [
        ("CFG = {'model': {'dtype': 'bf16'}}\n", True),
        ("CFG = dict(model=dict(dtype='fp16', width=8))\n", True),
        ("CFG = {'model': {'dtype': 'fp32'}}\n", False),
        ("CFG = load()\n", False),
        ("CFG = {'model': {'dtype': 'bf16' if fast else 'fp32'}}\n", False),
    ],
)
def test_a_type_that_a_dictionary_names_is_followed(tmp_path: Path, settings: str, low: bool) -> None:
    """Settings that are written out in the code; what may be either type is left open."""
    text = f"{NAMES}{settings}model = {LOAD}DTYPES[CFG['model']['dtype']])\n{SHARD}"
    assert bool(found_in(tmp_path, text)) is low
