"""What the catalogue says that torch does, beside programs that do it; each claim names the words that it proves."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).with_name("behaviour")
ONE = [str(PROGRAMS / "one_process.py")]
TWO = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(PROGRAMS / "two_ranks.py")]

CLAIMS: list[tuple[str, list[str], str, object]] = [
    (
        "monitored_barrier_outlives_its_group",
        TWO,
        "entries/hangs/D54-timeout-not-applied/entry.yaml: without one the 1800 seconds of the gloo backend",
        True,
    ),
    (
        "gloo_message_names_the_limit",
        TWO,
        "settings/timers.yaml: The call raises a RuntimeError in the rank that waits",
        "Timed out waiting 2000ms for recv operation to complete",
    ),
    (
        "new_group_takes_the_backend_default",
        TWO,
        "settings/timers.yaml: The timeout given to init_process_group does not reach these groups",
        [90.0, 1800.0, 300.0],
    ),
    (
        "gradients_are_averaged",
        TWO,
        "entries/ddp/D11-effective-batch-lr/entry.yaml: DDP divides the summed gradients by the world size",
        [1.5],
    ),
    (
        "buffers_are_those_of_rank_0",
        TWO,
        "entries/ddp/D10-syncbn-buffers/entry.yaml: each forward copies rank 0's buffers into place",
        10.0,
    ),
    (
        "no_sync_keeps_gradients_apart",
        TWO,
        "entries/numerics/D37-slow-throughput/entry.yaml: Wrap all but the last micro batch in model.no_sync()",
        [1.0, 2.0],
    ),
    (
        "unused_parameters_end_the_next_step",
        TWO,
        "entries/ddp/D8-ddp-unused-parameters/entry.yaml: In the step before, at least one parameter got no gradient",
        "Expected to have finished reduction in the prior iteration",
    ),
    (
        "sharded_state_dict_is_of_this_rank",
        TWO,
        "entries/fsdp/D15-fsdp-state-dict/entry.yaml: under `fully_shard` it writes DTensors of this rank",
        ["DTensor", 2],
    ),
    (
        "without_rank",
        ONE,
        "entries/launch/D1-env-contract/entry.yaml: environment variable RANK expected, but not set",
        "environment variable RANK expected, but not set",
    ),
    (
        "order_without_set_epoch",
        ONE,
        "entries/ddp/D22-dataloader-length-set-epoch/entry.yaml: The order is the same in every epoch",
        [True, False],
    ),
    (
        "sampler_repeats",
        ONE,
        "entries/ddp/D22-dataloader-length-set-epoch/entry.yaml: DistributedSampler repeats samples from the start",
        [[3, 3], [0]],
    ),
    (
        "drop_last_does_not_even_out",
        ONE,
        "entries/ddp/D9-uneven-inputs/entry.yaml: it does not make the numbers of batches equal",
        [4, 5],
    ),
    (
        "sampler_and_shuffle",
        ONE,
        "entries/ddp/D22-dataloader-length-set-epoch/entry.yaml: DataLoader refuses a sampler together with shuffle",
        "sampler option is mutually exclusive with shuffle",
    ),
    (
        "small_update_in_bfloat16",
        ONE,
        "guides/G1-fsdp-on-slurm.en.md: has bf16 master weights, and small updates vanish",
        1.0,
    ),
    (
        "clipping_lets_nan_through",
        ONE,
        "entries/numerics/D36-nan-divergence/entry.yaml: A norm of NaN makes every clipped gradient NaN",
        [False, True],
    ),
    (
        "halves_are_not_unscaled",
        ONE,
        "entries/fsdp/D14-fsdp-mixed-precision/entry.yaml: the parameters themselves are fp16",
        "Attempting to unscale FP16 gradients",
    ),
]


@pytest.fixture(scope="session")
def seen() -> dict[str, Any]:
    """What the programs saw, each started once."""
    out: dict[str, Any] = {}
    for program in (ONE, TWO):
        done = subprocess.run([sys.executable, *program], capture_output=True, text=True, timeout=170, check=False)
        lines = [line for line in done.stdout.splitlines() if line.startswith("SEEN ")]
        assert lines, done.stderr[-2000:]
        out |= json.loads(lines[-1].removeprefix("SEEN "))
    return out


@pytest.mark.torchrun
@pytest.mark.xdist_group("behaviour")
@pytest.mark.parametrize(("name", "program", "proves", "expected"), CLAIMS, ids=[claim[0] for claim in CLAIMS])
def test_torch_does_what_the_catalogue_says(
    seen: dict[str, Any], name: str, program: list[str], proves: str, expected: object
) -> None:
    """The program saw it, and the words that it proves still stand in the catalogue."""
    assert program in (ONE, TWO)
    told = seen[name]
    assert expected in told if isinstance(expected, str) else told == expected
    file, _, words = proves.partition(": ")
    assert words in " ".join((ROOT / "kb" / file).read_text(encoding="utf-8").split())


def test_the_own_address_of_a_machine_is_routed_over_lo() -> None:
    """MN1.a.1: asked for an address of its own, `ip route get` names `lo`, so that another node's is to be given."""
    try:
        done = subprocess.run(["ip", "route", "get", "127.0.0.2"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no ip here")
    assert " dev lo " in done.stdout
    entry = ROOT / "kb/entries/multinode/MN1-nic-interface/entry.yaml"
    assert "of its own address it says `lo`" in entry.read_text(encoding="utf-8")
