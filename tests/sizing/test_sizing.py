"""The sizing advisor: shapes, memory beside what real models allocated, traffic, launch files that tools accept."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distkb.sizing.activations import activations
from distkb.sizing.advise import advise, fits
from distkb.sizing.launch import accelerate, deepspeed, files
from distkb.sizing.shape import Shape, ShapeError, decoder, from_config, typical
from distkb.sizing.strategies import CONTEXT, Strategy, Workload, strategies, traffic

MEASURED = json.loads(Path(__file__).with_name("measured.json").read_text())
GIB = 1 << 30


def run(**changes: object) -> Workload:
    """A run of 8 GPUs on one node."""
    return Workload(**({"gpus": 8, "per_node": 8, "gpu_memory": 80 * GIB} | changes))  # type: ignore[arg-type]


@settings(max_examples=60)
@given(st.integers(2 * 10**7, 2 * 10**12))
def test_a_number_of_parameters_gives_a_shape_of_that_size(parameters: int) -> None:
    """The shape assumed for a size has that size, within 1 %, and its listing adds up to its own figure."""
    shape = typical(parameters)
    assert abs(shape.parameters / parameters - 1) < 0.01
    assert shape.heads % shape.kv_heads == 0 or shape.kv_heads == 1


@pytest.mark.parametrize("parameters", [3 * 10**7, 124 * 10**6, 10**9, 7 * 10**9, 70 * 10**9])
def test_the_closed_form_counts_what_the_listing_holds(parameters: int) -> None:
    """The number of parameters is that of the parameters listed."""
    shape = typical(parameters)
    assert shape.parameters == sum(param.numel for param in decoder(shape).params)


def configuration(measured: dict[str, object]) -> Shape:
    """The shape of a measured model, read as `--config` reads it."""
    config = measured["config"]
    assert isinstance(config, dict)
    if measured["model"] == "gpt2":
        config = {"model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12, "vocab_size": 50257} | config
        config.setdefault("n_positions", 1024)
    if measured["model"] == "qwen2.5-0.5b":
        config = {"model_type": "qwen2"} | config
    return from_config(config)


NAMES = [
    f"{one['model']}-{one['precision']}-{one['batch']}x{one['sequence']}{'-ckpt' if one['checkpointing'] else ''}"
    for one in MEASURED["runs"]
]


@pytest.mark.parametrize("measured", MEASURED["runs"], ids=NAMES)
def test_the_arithmetic_is_within_ten_percent_of_what_real_models_allocate(measured: dict[str, object]) -> None:
    """States are exact; the peak of a micro-batch on one device, all tensors together, is off by 10 % at most."""
    shape = configuration(measured)
    assert shape.parameters == measured["parameters"]
    asked = run(
        gpus=1,
        per_node=1,
        sequence=measured["sequence"],
        batch=measured["batch"],
        precision=measured["precision"],
    )
    (row,) = (row for row in strategies(shape, asked) if row.name == "ddp")
    assert (row.params, row.grads, row.optimizer) == (
        measured["parameter_bytes"],
        measured["gradient_bytes"],
        measured["optimizer_bytes"],
    )
    rest = row.params + row.grads + row.optimizer
    peaks = [measured[name] for name in ("micro_batch_peak", "step_peak")]
    real = rest + max(peak for peak in peaks if isinstance(peak, int))
    ours = row.tensors(checkpointing=bool(measured["checkpointing"]))
    assert ours == pytest.approx(real, rel=0.10)
    micro_batch = row.gathered + row.activations.peak(checkpointing=bool(measured["checkpointing"]))
    assert micro_batch == pytest.approx(measured["micro_batch_peak"], rel=0.15)


ON_GPU = json.loads(Path(__file__).with_name("measured_gpu.json").read_text())


def on_gpu(measured: dict[str, object]) -> Strategy:
    """The row of a measured run on a GPU."""
    names = ("gpus", "sequence", "batch", "precision", "optimizer", "lora")
    asked = {"gpus": 1} | {name: measured[name] for name in names if name in measured}
    wanted = measured.get("strategy", "ddp")
    config = measured["config"]
    assert isinstance(config, dict)
    rows = strategies(from_config(config), run(**asked, per_node=min(8, int(str(asked["gpus"])))))
    return next(row for row in rows if row.name == wanted)


GPU_NAMES = [
    "-".join(str(one[key]) for key in ("model", "strategy", "gpus", "precision", "sequence", "lora") if key in one)
    + ("-ckpt" if one.get("checkpointing") else "")
    for one in ON_GPU["runs"]
]


@pytest.mark.parametrize("measured", ON_GPU["runs"], ids=GPU_NAMES)
def test_the_arithmetic_is_within_five_percent_of_what_a_gpu_holds(measured: dict[str, Any]) -> None:
    """States and the busiest moment's tensors are those of real training on an H100, over 1 to 64 ranks."""
    row, checkpointing = on_gpu(measured), bool(measured.get("checkpointing"))
    buckets = row.grads if measured.get("strategy") == "ddp" else 0
    inputs = 100 << 20
    assert row.states + buckets == pytest.approx(measured["at_rest"], abs=inputs, rel=0.01)
    real = max(measured["micro_batch_peak"], measured["step_peak"])
    assert row.tensors(checkpointing=checkpointing) == pytest.approx(real, rel=0.05)


def test_the_peak_is_as_near_to_what_a_run_took_as_is_written() -> None:
    """Beside what the allocator reserved and the process held besides, the peaks span the range that is written."""
    near = [
        on_gpu(one).peak(checkpointing=bool(one.get("checkpointing"))) / (one["reserved"] + one["besides"])
        for one in ON_GPU["runs"]
    ]
    written = f"{min(near):.2f} to {max(near):.2f}"
    root = Path(__file__).parents[2]
    for name in ("README.md", "assistant/distkb/locale/advise.en.json"):
        assert written in (root / name).read_text(encoding="utf-8")
    for name in ("README.ko.md", "assistant/distkb/locale/advise.ko.json"):
        assert written.replace(" to ", "~") in (root / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("measured", ON_GPU["runs"], ids=GPU_NAMES)
def test_what_did_not_run_in_less_is_given_more(measured: dict[str, Any]) -> None:
    """The allowances cover what a GPU holds beside the allocator, and more than a limit in which the run failed."""
    row, checkpointing = on_gpu(measured), bool(measured.get("checkpointing"))
    assert measured["besides"] < CONTEXT
    allowed = row.peak(checkpointing=checkpointing) - CONTEXT
    if "limit" in measured and not measured["runs_in_limit"]:
        assert allowed > 1.02 * measured["limit"]


def test_sharding_divides_the_states_by_the_ranks() -> None:
    """On 8 ranks fully sharded states are an eighth of DDP's; ZeRO-1 shards the optimizer only."""
    rows = {row.name: row for row in strategies(typical(7 * 10**9), run())}
    assert rows["fsdp2"].states == pytest.approx(rows["ddp"].states / 8, rel=0.01)
    assert rows["zero1"].optimizer == pytest.approx(12 * 7e9 / 8, rel=0.01)
    assert rows["zero1"].params == pytest.approx(2 * 7e9, rel=0.01)


def test_traffic_is_that_of_ring_algorithms() -> None:
    """One GPU sends twice the gradients under DDP, three halves of that fully sharded, and a hybrid keeps it inside."""
    shape, asked = typical(7 * 10**9), run(gpus=16, precision="pure-bf16")
    plan = decoder(shape, dtype="bfloat16")
    weights = 2 * shape.parameters
    assert traffic("ddp", plan, asked)[0] == pytest.approx(2 * weights * 15 / 16, rel=1e-3)
    assert traffic("fsdp2", plan, asked)[0] == pytest.approx(3 * weights * 15 / 16, rel=1e-3)
    inside, across = traffic("fsdp2_hybrid", plan, asked)
    assert across == pytest.approx(weights, rel=1e-3)
    assert inside == pytest.approx(3 * weights * 7 / 8 + weights / 8, rel=1e-3)
    assert traffic("fsdp2", plan, run())[1] == 0


@settings(max_examples=60)
@given(
    st.integers(10**8, 5 * 10**11),
    st.sampled_from([1, 2, 8, 16, 64, 512]),
    st.sampled_from([24, 40, 80, 192]),
    st.integers(128, 32768),
)
def test_what_is_advised_fits(parameters: int, gpus: int, memory: int, sequence: int) -> None:
    """The strategy to start from fits, the rows never grow by checkpointing, and nothing is advised where none fits."""
    asked = run(gpus=gpus, per_node=min(8, gpus), gpu_memory=memory * GIB, sequence=sequence)
    advice = advise(typical(parameters), asked)
    assert all(row.peak(checkpointing=True) <= row.peak(checkpointing=False) for row in advice.rows)
    if advice.chosen is not None:
        assert fits(advice.chosen, asked, checkpointing=advice.checkpointing)
    else:
        ladder = ("ddp", "fsdp2", "fsdp2_offload")
        assert not any(fits(row, asked, checkpointing=True) for row in advice.rows if row.name in ladder)


def test_a_longer_sequence_needs_more() -> None:
    """Activations grow with the tokens and not faster: the attention keeps no square matrix."""
    shape = typical(10**9)
    one, two = (activations(shape, sequence=n, batch=1, autocast=False) for n in (2048, 4096))
    assert two.kept == 2 * one.kept
    assert two.loss == 2 * one.loss


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"num_hidden_layers": 2},
        {"num_hidden_layers": True, "hidden_size": 4, "num_attention_heads": 1, "vocab_size": 9},
        {"num_hidden_layers": 2, "hidden_size": -4, "num_attention_heads": 1, "vocab_size": 9},
        {"num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "vocab_size": 99, "num_local_experts": 8},
    ],
)
def test_a_configuration_that_says_too_little_is_refused(document: dict[str, object]) -> None:
    """A missing or impossible dimension, or a mixture of experts, is an error with a sentence."""
    with pytest.raises(ShapeError):
        from_config(document)


ADVICES = {
    "ddp": (10**8, run()),
    "fsdp2": (7 * 10**9, run()),
    "hybrid": (3 * 10**9, run(gpus=16)),
    "two-nodes": (30 * 10**9, run(gpus=32)),
    "zero2_offload": (13 * 10**9, run(gpus=2, per_node=2, gpu_memory=48 * GIB)),
    "fsdp2_offload": (70 * 10**9, run()),
}


@pytest.mark.parametrize("case", ADVICES)
def test_the_files_are_accepted_by_the_real_tools(case: str, tmp_path: Path) -> None:
    """Accelerate loads its file into its own class, bash parses the batch script, and distkb's readers find nothing."""
    from accelerate.commands.config.config_args import load_config_from_file

    parameters, asked = ADVICES[case]
    advice = advise(typical(parameters), asked)
    assert advice.chosen is not None
    for name, text in files(advice).items():
        (tmp_path / name).write_text(text)
    loaded = load_config_from_file(str(tmp_path / "accelerate.yaml"))
    assert loaded.num_processes == asked.gpus
    assert loaded.num_machines == asked.nodes
    if advice.chosen.name.startswith("fsdp2"):
        assert loaded.fsdp_config == accelerate(advice)["fsdp_config"]
    subprocess.run(["bash", "-n", str(tmp_path / "train.sbatch")], check=True)
    answer = subprocess.run(
        [sys.executable, "-m", "distkb", "probe", "fsdp", *map(str, sorted(tmp_path.iterdir())), "--json"],
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(answer.stdout)["findings"]
    assert [(one["id"], one["text"]["en"]) for one in found if one["severity"] != "note"] == []
    assert deepspeed(advice)["train_micro_batch_size_per_gpu"] == asked.batch


def test_accelerate_counts_the_same_model_alike() -> None:
    """`accelerate estimate-memory` and distkb agree on the bytes of the weights of the same model."""
    import torch
    from accelerate.utils.modeling import compute_module_sizes

    shape = Shape(4, 256, 4, 2, 64, 512, 1000)
    with torch.device("meta"):
        listed = decoder(shape).params
        named = {one.name.replace(".", "_"): torch.nn.Parameter(torch.empty(one.shape)) for one in listed}
        model = torch.nn.ParameterDict(named)
    assert compute_module_sizes(model)[""] == 4 * shape.parameters
