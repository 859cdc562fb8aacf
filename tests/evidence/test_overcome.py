"""What a run got over tells of no failure, and what it did not does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import built_in
import pytest
from evidence_samples import FINDINGS

from distkb.catalogue.places import cache_directory
from distkb.evidence.read import read_evidence
from distkb.evidence.walk import take_stock

if TYPE_CHECKING:
    from pathlib import Path

SIGNATURES = built_in.catalogue().signatures
RETRIES = "wandb: Network error (ConnectionError), entering retry loop.\n"
STEPS = "".join(f"step {step} | loss {9 - step / 10:.3f}\n" for step in range(1, 10))
BARS = "".join(f" {step}%|█         | {step}/100 [00:0{step}<03:00,  4.21s/it]\n" for step in range(1, 10))
LOADING = "".join(
    f"Loading checkpoint shards:  {step}%|█  | {step}/9 [00:0{step}<00:03,  1.01s/it]\n" for step in range(1, 10)
)


def _seen(tmp_path: Path, text: str) -> set[str]:
    log = tmp_path / "train.log"
    log.write_text(text)
    found = read_evidence(SIGNATURES, (), FINDINGS, take_stock([log]), cache_dir=cache_directory())
    return {o.id for o in found.observations if o.present}


@pytest.mark.parametrize("steps", [STEPS, BARS])
def test_a_hindrance_behind_which_the_steps_go_on_is_none(tmp_path: Path, steps: str) -> None:
    """The tracker was tried again while the training went on."""
    assert "tracker.retry-loop" not in _seen(tmp_path, RETRIES + steps)


@pytest.mark.parametrize(
    "text",
    [RETRIES, STEPS + RETRIES, STEPS + RETRIES + STEPS, RETRIES + LOADING, STEPS + RETRIES + "step 10 | loss 8\n"],
)
def test_a_hindrance_that_the_run_did_not_leave_behind_counts(tmp_path: Path, text: str) -> None:
    """Nothing went on behind it, or only what comes before the training, or too little to say."""
    assert "tracker.retry-loop" in _seen(tmp_path, text)


def test_the_steps_of_another_rank_do_not_leave_a_rank_behind_its_error(tmp_path: Path) -> None:
    """Rank 1 stops at its error while rank 0 goes on; where only rank 0 ever prints, its steps stand for all."""
    error, alone = (
        "[rank1]: ValueError: record 8812 has no field\n",
        "".join(f"[rank0]: step {step} | loss {9 - step / 10:.3f}\n" for step in range(1, 20)),
    )
    both = "".join(f"[rank{rank}]: step {step} | loss {9 - step / 10:.3f}\n" for step in range(1, 9) for rank in (0, 1))
    rest = "".join(alone.splitlines(keepends=True)[8:])
    assert "error.raised" in _seen(tmp_path, both + error + rest)
    assert "error.raised" not in _seen(tmp_path, error + alone)


def test_bars_that_prepare_are_no_steps(tmp_path: Path) -> None:
    """Shards that were loaded say nothing of the training."""
    assert "run.steps-made" in _seen(tmp_path, BARS)
    assert "run.steps-made" not in _seen(tmp_path, LOADING)


def test_a_file_of_a_node_is_none_of_the_rank_of_that_number(tmp_path: Path) -> None:
    """`worker-1.log` holds what ranks 4 to 7 printed, each under its own label."""
    raised = (
        'Traceback (most recent call last):\n  File "/a/train.py", line 9, in <module>\n    go()\nValueError: bad\n'
    )
    labelled = "".join(f"[rank6]: {line}\n" for line in raised.splitlines())
    other = "".join(f"[rank{rank}]: step {step} loss 2.{step}\n" for step in range(5) for rank in (4, 5, 6, 7))
    log = tmp_path / "worker-1.log"
    log.write_text(other + labelled)
    found = read_evidence(SIGNATURES, (), FINDINGS, take_stock([log]), cache_dir=cache_directory())
    assert {q.rank for o in found.observations for q in o.quotes if "ValueError" in q.text} == {6}
