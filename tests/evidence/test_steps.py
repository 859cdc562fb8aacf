"""Step counters and words of completion."""

from __future__ import annotations

import pytest

from distkb.evidence.run.steps import last_progress, says_finished


@pytest.mark.parametrize(
    ("line", "step", "total", "epoch"),
    [
        ("step 12 loss 0.5", 12, None, None),
        ("step=12, loss=0.5", 12, None, None),
        ("[12/100] loss 0.5", 12, 100, None),
        ("iter: 12", 12, None, None),
        ("it 12", 12, None, None),
        (" 12%|#2   | 12/100 [00:12<01:23, 3.1it/s]", 12, 100, None),
        ("Epoch 3 batch 12/50", 12, 50, 3),
        ("Epoch: [3] Step: [12/50]", 12, 50, 3),
        ("global_step: 12", 12, None, None),
    ],
)
def test_counters(line: str, step: int, total: int | None, epoch: int | None) -> None:
    """The usual wordings are read with total and epoch."""
    (progress,) = last_progress(["warm up", line]).values()
    assert (progress.step, progress.total, progress.epoch, progress.index) == (step, total, epoch, 1)


def test_no_counter() -> None:
    """Speeds, versions and losses are no counters."""
    assert last_progress(["3.1it/s", "loss 0.5 lr 3e-4", "torch 2.13.0", "step size 0.1"]) == {}


@pytest.mark.parametrize(
    "line", ["epoch done", "Training finished.", "rank 3 exiting", "all batches exhausted", "학습 완료"]
)
def test_finished(line: str) -> None:
    """Words with which a rank says that it has come to its end."""
    assert says_finished(line)


@pytest.mark.parametrize(
    "line", ["checkpoint saved successfully", "50% done with shard", "training not finished", "step 4"]
)
def test_not_finished(line: str) -> None:
    """Words about something smaller are not."""
    assert not says_finished(line)
