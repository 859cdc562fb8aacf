"""The advisor beside the real tools: accelerate's estimate, and launch files that launchers and engines accept."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from distkb.sizing.advise import Advice, advise, choose
from distkb.sizing.form import Form, read
from distkb.sizing.launch import STAGES, command, deepspeed, files
from distkb.sizing.presets import PRESETS
from distkb.sizing.strategies import GIB, Workload, strategies

ESTIMATES = json.loads(Path(__file__).with_name("estimates.json").read_text())
NODES = {"one-node": Form(), "two-nodes": Form(gpus="16", model="3B")}


CASES = [(name, form) for name in STAGES for form in NODES if form == "two-nodes" or "hybrid" not in name]
"""Every strategy on one node and on two; hybrid ones need several."""


def started(form: str, name: str) -> Advice:
    """The advice to start with a strategy."""
    return choose(advise(*read(NODES[form])), name)


@pytest.mark.parametrize("model", ESTIMATES["models"])
def test_accelerate_estimates_the_same_weights(model: str) -> None:
    """`accelerate estimate-memory` counts rotary tables, and no output layer; the rest is distkb's to the byte."""
    shape, said = PRESETS[model], ESTIMATES["models"][model]
    head = 0 if shape.tied else shape.vocab * shape.hidden
    tables = shape.head_dim if shape.gated else 0
    assert said["float32"]["total"] == 4 * (shape.parameters - head + tables)
    assert said["float16"]["total"] == 2 * (shape.parameters - head + tables)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("model", PRESETS)
def test_accelerate_estimates_the_same_training_with_adam(model: str, precision: str) -> None:
    """For one GPU both count weights, gradients and Adam's states alike; the 16-bit copies are in its gradients."""
    from accelerate.commands.estimate import estimate_training_usage

    shape = PRESETS[model]
    asked = Workload(gpus=1, per_node=1, gpu_memory=80 * GIB, precision="fp32" if precision == "fp32" else "bf16")
    (row,) = (row for row in strategies(shape, asked) if row.name == "ddp")
    said = estimate_training_usage(4 * shape.parameters, "float32" if precision == "fp32" else "bfloat16")
    assert (row.params, row.optimizer) == (said["model"], said["optimizer"])
    copies = 0 if precision == "fp32" else 2 * shape.parameters
    assert row.grads + copies == said["gradients"]
    embedding = 0 if shape.tied or precision == "fp32" else 2 * shape.vocab * shape.hidden
    assert row.gathered == copies - embedding, "autocast copies no embedding"


def environment(advice: Advice, folder: Path) -> dict[str, str]:
    """What `accelerate launch --config_file` would set for the processes that it starts."""
    from accelerate.commands import launch
    from accelerate.utils.launch import prepare_multi_gpu_env

    for name, text in files(advice).items():
        (folder / name).write_text(text)
    words = ["--config_file", str(folder / "accelerate.yaml"), "train.py"]
    args, _, _ = launch._validate_launch_command(launch.launch_command_parser().parse_args(words))
    assert args.num_processes == advice.run.gpus
    assert args.num_machines == advice.run.nodes
    return dict(prepare_multi_gpu_env(args))


@pytest.mark.parametrize(("name", "form"), [case for case in CASES if not case[0].startswith("zero")])
def test_accelerate_starts_what_was_advised(
    name: str, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The launcher takes the file, and its processes build from it the plugin that the strategy means."""
    from accelerate.parallelism_config import ParallelismConfig
    from accelerate.utils import FullyShardedDataParallelPlugin

    advice = started(form, name)
    for variable in [variable for variable in os.environ if variable.startswith(("ACCELERATE_", "FSDP_", "PARALLEL"))]:
        monkeypatch.delenv(variable)
    for variable, value in environment(advice, tmp_path).items():
        monkeypatch.setenv(variable, value)
    assert os.environ["ACCELERATE_MIXED_PRECISION"] == "bf16"
    if name == "ddp":
        assert "ACCELERATE_USE_FSDP" not in os.environ
        return
    plugin = FullyShardedDataParallelPlugin()
    assert plugin.fsdp_version == 2
    assert plugin.reshard_after_forward is (name not in ("fsdp2_no_reshard", "shard_grad_op"))
    assert type(plugin.cpu_offload).__name__ == ("CPUOffloadPolicy" if name == "fsdp2_offload" else "OffloadPolicy")
    assert plugin.activation_checkpointing is advice.checkpointing
    if name in ("fsdp2_hybrid", "hybrid_shard"):
        mesh = ParallelismConfig()
        assert (mesh.dp_replicate_size, mesh.dp_shard_size) == (advice.run.nodes, advice.run.per_node)
        assert mesh.total_size == advice.run.gpus


@pytest.mark.parametrize("form", NODES)
def test_torchrun_understands_the_command_and_the_batch_script(form: str) -> None:
    """Torchrun's own parser takes every option and finds the script; the agent gets the advised numbers."""
    from torch.distributed.run import config_from_args, get_args_parser

    advice = advise(*read(NODES[form]))
    words = shlex.split(command(advice))
    assert words[0] == "torchrun"
    script = files(advice)["train.sbatch"].replace("\\\n", " ")
    line = next(line for line in script.splitlines() if line.startswith("srun"))
    values = {"SLURM_NNODES": str(advice.run.nodes), "SLURM_JOB_ID": "1", "head": "node1"}
    launched = shlex.split(re.sub(r"\$(\w+)", lambda match: values.get(match[1], "8"), line))
    for given in (words[1:], launched[launched.index("torchrun") + 1 :]):
        args = get_args_parser().parse_args(given)
        assert args.training_script == "train.py"
        config, _, _ = config_from_args(args)
        assert (config.max_nodes, config.nproc_per_node) == (advice.run.nodes, advice.run.per_node)
        assert args.standalone or config.rdzv_backend == "c10d"


def test_deepspeed_takes_its_files(tmp_path: Path) -> None:
    """Where DeepSpeed is installed, its own model of the configuration takes every key of every strategy's file."""
    config = pytest.importorskip("deepspeed.runtime.config", reason="DeepSpeed is not installed")
    for name, form in CASES:
        advice = started(form, name)
        path = tmp_path / "ds_config.json"
        path.write_text(files(advice)["ds_config.json"])
        taken: Any = config.DeepSpeedConfig(str(path))
        written = deepspeed(advice)
        assert taken.train_micro_batch_size_per_gpu == advice.run.batch
        assert taken.gradient_clipping == 1.0
        assert taken.zero_optimization_stage == STAGES[name]
        zero = taken.zero_config.model_dump()
        assert set(written["zero_optimization"]) <= set(zero) | {"stage3_gather_16bit_weights_on_model_save"}, name
        assert (zero["offload_optimizer"] is not None) is name.endswith("_offload")
        assert (zero["offload_param"] is not None) is (name == "fsdp2_offload")
        assert taken.bfloat16_config.enabled
