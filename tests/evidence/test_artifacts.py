"""What stands beside logs: every kind has its say, and none is read as a log."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from distkb.evidence.artifacts import read_artifacts
from distkb.evidence.walk import take_stock

SCRIPT = """
import torch.distributed as dist
from transformers import TrainingArguments

args = TrainingArguments(output_dir="out", per_device_train_batch_size=8)
dist.init_process_group("nccl")
if dist.get_rank() == 0:
    dist.barrier()
"""
DUMP = 'Current thread 0x00007f (most recent call first):\n  File "/home/user/train.py", line 8 in <module>\n'

ENGINE = """import deepspeed
import torch
import torch.distributed as dist
from torch import nn


def main(loader):
    engine, *_ = deepspeed.initialize(model=nn.Linear(8, 1), config="ds_config.json")
    for x, y in loader:
        engine.backward(nn.functional.mse_loss(engine(x), y))
        engine.step()
    if dist.get_rank() == 0:
        torch.save(engine.module.state_dict(), "last.pt")
"""


def test_without_paths_no_reader_is_even_imported() -> None:
    """A report alone costs nothing of what files would."""
    for name in [name for name in sys.modules if name.startswith("distkb.evidence.readers.scripts")]:
        del sys.modules[name]
    assert read_artifacts(take_stock([]), (), {}).readings == ()
    assert "distkb.evidence.readers.scripts" not in sys.modules


def test_a_script_that_configures_a_trainer_is_checked_as_a_script_too(tmp_path: Path) -> None:
    """TrainingArguments in a script do not hide the barrier that only one rank reaches."""
    (tmp_path / "train.py").write_text(SCRIPT, encoding="utf-8")
    found = {o.id for reading in read_artifacts(take_stock([tmp_path]), (), {}).readings for o in reading.observations}
    assert "script.collective-on-some-ranks" in found


def test_what_is_no_log_is_told_apart_from_what_is_both(tmp_path: Path) -> None:
    """Stacks and scripts are no logs; a log in which a stack stands stays one."""
    (tmp_path / "train.py").write_text(SCRIPT, encoding="utf-8")
    (tmp_path / "stacks-rank0.txt").write_text(DUMP, encoding="utf-8")
    (tmp_path / "rank1.log").write_text(f"step 1 loss 0.5\nstep 2 loss 0.4\n{DUMP}", encoding="utf-8")
    artifacts = read_artifacts(take_stock([tmp_path]), (), {})
    assert {path.name for path in artifacts.files} == {"train.py", "stacks-rank0.txt", "rank1.log"}
    assert {path.name for path in artifacts.not_logs} == {"train.py", "stacks-rank0.txt"}


def test_scripts_are_read_as_the_configurations_start_them(tmp_path: Path) -> None:
    """A state taken out of an engine is empty under ZeRO's third stage, which is written beside the script."""
    (tmp_path / "train.py").write_text(ENGINE, encoding="utf-8")
    found = {}
    for stage in (2, 3):
        config = {"train_micro_batch_size_per_gpu": 4, "zero_optimization": {"stage": stage}}
        (tmp_path / "ds_config.json").write_text(json.dumps(config), encoding="utf-8")
        artifacts = read_artifacts(take_stock([tmp_path]), (), {})
        found[stage] = {o.id for reading in artifacts.readings for o in reading.observations}
    assert found[3] - found[2] >= {"script.state-of-partitioned"}
