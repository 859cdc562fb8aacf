"""Samples, batches and steps that a run states, held against each other."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_samples import TEXTS, lines, observed, scan

from distkb.evidence.run.sizes import divided


def said(*texts: str) -> str | None:
    """How often two ranks that print this divided their data."""
    found = divided({"rank 0": lines(*texts)}, 2)
    return None if found is None else found[0]


@pytest.mark.parametrize(
    ("texts", "often"),
    [
        (["train scans 1600, test scans 320, batch 12 per process", "season 0: 34 steps, mse 0.97"], "twice"),
        (["train scans 1600, test scans 320, batch 12 per process", "season 0: 67 steps, mse 0.97"], None),
        (["train scans 1600, test scans 320, batch 12 per process", "season 0: 134 steps, mse 0.97"], "never"),
        (["1600 train samples, batch size 12", "epoch 0: 134 steps"], None),
        (["Num examples = 1,600 | batch_size per device = 12", "step 3/34 loss 0.5"], "twice"),
        (["1600 train samples, batch 12 per gpu, grad_accum 2", "epoch 0: 34 steps"], None),
        (["1600 val samples, batch 12", "epoch 0: 34 steps"], None),
    ],
    ids=["twice", "once", "never", "global batch", "with commas", "accumulated", "other data"],
)
def test_steps_tell_how_often_the_data_was_divided(texts: list[str], often: str | None) -> None:
    """Of N samples, W ranks and batches of B a rank makes N / (W B) steps; a W-th of them is once too often."""
    assert said(*texts) == often


@given(st.integers(2, 8), st.integers(1, 64), st.integers(8, 400), st.booleans())
def test_data_that_is_divided_once_raises_nothing(world: int, batch: int, steps: int, whole: bool) -> None:
    """Whatever the sizes are and however the last batch is rounded, one division is right."""
    samples = world * batch * steps - (0 if whole else batch // 2)
    texts = [f"train samples {samples}, batch {batch} per rank", f"epoch 0: {steps} steps"]
    assert divided({"rank 0": lines(*texts)}, world) is None


@given(st.lists(TEXTS, max_size=8), st.one_of(st.none(), st.integers(0, 9)))
def test_any_lines_are_held_against_each_other(texts: list[str], world: int | None) -> None:
    """Whatever was printed, the answer quotes lines that were."""
    found = divided({"rank 0": lines(*texts)}, world)
    assert found is None or {line.text for line in found[1]} <= set(texts)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("op.preamble.length <= op.nbytes. 4096 vs 2048", {"run.sizes-of-two-precisions"}),
        ("op.preamble.length <= op.nbytes. 2048 vs 8192", {"run.sizes-of-two-precisions"}),
        ("op.preamble.length <= op.nbytes. 28272 vs 10992", {"run.sizes-of-two-shapes"}),
        ("op.preamble.length <= op.nbytes. 11032 vs 11016", {"run.sizes-of-one-tensor"}),
        ("op.preamble.length <= op.nbytes. 1828 vs 4", set()),
        (
            "peer 10.0.0.2<40120> message truncated : receiving 1048576 bytes instead of 524288",
            {"run.sizes-of-two-precisions"},
        ),
    ],
)
def test_two_sizes_tell_whether_only_the_precision_may_differ(line: str, told: set[str]) -> None:
    """As many numbers in another precision have 2 or 4 times the bytes; any other sizes are of other tensors."""
    assert {name for name in observed(scan(line)) if name.startswith("run.sizes-of")} == told
