"""What a run prints of itself moves the causes that tell of such work, and never says that something failed."""

from __future__ import annotations

from pathlib import Path

import built_in

from distkb import intake
from distkb.catalogue.places import cache_directory
from distkb.diagnosis.batch import diagnose
from distkb.diagnosis.belief import WORDED_ALIKE
from distkb.diagnosis.conclude import entry_probabilities
from distkb.diagnosis.model import Diagnosis

PIPELINE = """rank 0: pipeline of 3 stages, schedule 1F1B, 8 microbatches of 4 samples
rank 1: stage 1 takes microbatch 3 of the split batch
rank 2: stage 2 computes the loss of each microbatch
rank 0: first stage sends the activations of its microbatch to the next stage
rank 1: the schedule steps with chunks of the batch, middle stage
rank 2: last stage, target split into microbatches
"""
PLAIN = "\n".join(f"rank {r}: step {m} loss 0.{m}" for r in range(3) for m in range(4))
FAILED = """
[rank1]: Traceback (most recent call last):
[rank1]:   File "/home/u/run.py", line 7, in <module>
[rank1]:     go()
[rank1]: ValueError: no
"""


def answer(folder: Path, text: str) -> Diagnosis:
    """Diagnose one log."""
    (folder / "train.log").write_text(text, encoding="utf-8")
    evidence = intake.read(built_in.catalogue(), [folder], index=built_in.index, cache_dir=cache_directory())
    return diagnose(built_in.guide(), evidence)


def test_words_of_a_pipeline_bring_its_entry_nearer(tmp_path: Path) -> None:
    """The same failure after lines about stages and microbatches makes the pipeline's entry more probable."""
    worded, plain = answer(tmp_path, PIPELINE + FAILED), answer(tmp_path, PLAIN + FAILED)
    assert entry_probabilities(worded)["D66"] > 2 * entry_probabilities(plain)["D66"]
    cause = next(ranked for ranked in worded.causes if ranked.entry.id == "D66")
    reason = next(c for c in cause.evidence if c.observation.id == WORDED_ALIKE)
    assert reason.weight > 0
    assert "microbatch" in reason.observation.quotes[0].text


def test_words_alone_are_no_evidence_of_a_failure(tmp_path: Path) -> None:
    """A run that prints steps and ends is not called a failure, whatever its words are like."""
    assert answer(tmp_path, PIPELINE + "\nrank 0: training finished\n").verdict == "no-evidence"


def test_what_was_compared_is_not_kept(tmp_path: Path) -> None:
    """The text of a log does not go into a saved session beyond its quotes."""
    assert answer(tmp_path, PIPELINE + FAILED).evidence.printed == {}
