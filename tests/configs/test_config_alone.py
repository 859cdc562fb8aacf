"""A launch that gives one process of the Hugging Face Trainer several GPUs is told of, and no other one."""

from __future__ import annotations

from pathlib import Path

import built_in
import pytest

from distkb.evidence.readers.configs import read_configs

IDENTITY = "config.trainer-in-one-process"
SCRIPT = """import torch
from transformers import AutoModel, Trainer, TrainingArguments
model = AutoModel.from_pretrained("x"{given})
args = TrainingArguments("out", per_device_train_batch_size=8{more})
trainer = Trainer(model, args, train_dataset=data)
trainer.{does}()
"""
OWN = """from transformers import HfArgumentParser, Trainer, TrainingArguments
class Mine(Trainer):
    pass
args, = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()
Mine(model, args, train_dataset=data).train()
"""
JOB = "#!/bin/bash\n#SBATCH --nodes=1\n#SBATCH --gres=gpu:4\n"


def script(given: str = "", more: str = "", does: str = "train") -> str:
    """A program with a Trainer."""
    return SCRIPT.format(given=given, more=more, does=does)


def found_in(folder: Path, launch: str, text: str, name: str = "run.sh") -> list[str]:
    """What is observed in a launch file beside `train.py`."""
    (folder / name).write_text(launch + "\n")
    (folder / "train.py").write_text(text)
    reading = read_configs([folder / name, folder / "train.py"], built_in.catalogue().settings, {})
    return [one.id for one in reading.observations]


@pytest.mark.parametrize("text", [script(), OWN, OWN.replace("Trainer", "Seq2SeqTrainer")])
@pytest.mark.parametrize(
    "launch",
    [
        JOB + "source env\npython -u train.py --epochs 3",
        "CUDA_VISIBLE_DEVICES=0,1 nohup python train.py > log &",
        "export CUDA_VISIBLE_DEVICES=2,3\nfor s in 1 2; do\n  python scripts/train.py --seed $s\ndone",
    ],
)
def test_one_process_with_several_gpus_is_told_of(tmp_path: Path, launch: str, text: str) -> None:
    """A job's GPUs, or the visible ones, are several, and plain python starts the script with the Trainer."""
    assert found_in(tmp_path, launch, text) == [IDENTITY]


@pytest.mark.parametrize(
    "launch",
    [
        JOB + "torchrun --nproc-per-node=4 train.py",
        JOB + "accelerate launch --multi_gpu --num_processes 4 train.py",
        JOB + "python -m torch.distributed.run --nproc-per-node=4 train.py",
        JOB + "export CUDA_VISIBLE_DEVICES=0\npython train.py",
        JOB + "CUDA_VISIBLE_DEVICES=$GPU python train.py",
        JOB + "python prepare.py",
        JOB + "python train.py --deepspeed ds.json",
        JOB + "export LOCAL_RANK=0\npython train.py",
        "#!/bin/bash\n#SBATCH --gres=gpu:1\npython train.py",
        "python train.py",
    ],
)
def test_other_launches_of_a_trainer_are_not(tmp_path: Path, launch: str) -> None:
    """A launcher, one GPU, an unknown number of them, another script, or another engine."""
    assert IDENTITY not in found_in(tmp_path, launch, script())


@pytest.mark.parametrize(
    "text",
    [
        script(given=", device_map='auto'"),
        script(more=", deepspeed='ds.json'"),
        script(more=", use_cpu=True"),
        script(does="evaluate"),
        "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'\n" + script(),
        "import lightning as L\nL.Trainer(devices=4, strategy='ddp').fit(m)\n",
    ],
)
def test_other_scripts_are_not(tmp_path: Path, text: str) -> None:
    """A model that is laid out over the GPUs, another engine, no training, or another trainer."""
    assert found_in(tmp_path, JOB + "python train.py", text) == []


def test_the_repaired_launch_draws_no_finding(tmp_path: Path) -> None:
    """The command to paste starts one process for each GPU."""
    (tmp_path / "job.sbatch").write_text(JOB + "python -u -m pack.train --a 1\npython train.py --a $A\n")
    (tmp_path / "train.py").write_text(script())
    files = [tmp_path / "job.sbatch", tmp_path / "train.py"]
    [found] = read_configs(files, built_in.catalogue().settings, {}).observations
    assert found.commands == ("torchrun --standalone --nproc-per-node=4 train.py --a $A",)
    assert found_in(tmp_path, JOB + found.commands[0], script()) == []
