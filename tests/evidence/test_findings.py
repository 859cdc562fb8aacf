"""Findings across ranks, on the output of real torchrun runs that failed (the program is data/train.py.txt)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from evidence_samples import DATA, by_id, findings, read

if TYPE_CHECKING:
    from pathlib import Path

EXPECTED = {
    "raises": {"one-rank-failed-first", "exception-in-user-code"},
    "barrier": {"only-echoes", "ranks-in-different-calls", "last-step-same"},
    "slow": {"only-echoes", "rank-still-working", "last-step-same"},
    "early": {"only-echoes", "rank-finished-early"},
    "kill": {"one-rank-failed-first"},
}


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_log_directory_with_console(name: str) -> None:
    """A torchrun log directory with the launcher's console gives exactly the findings that the run shows."""
    assert findings(read(DATA / name)) == EXPECTED[name]


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_interleaved_console(name: str) -> None:
    """The same findings come out of one console into which both ranks wrote."""
    assert findings(read(DATA / f"{name}.mixed.log")) == EXPECTED[name]


def test_first_failure_leads_the_notes() -> None:
    """The rank that raised first comes first, with its time, and the rank that lost its peer after it."""
    evidence = read(DATA / "raises" / "run_x1")
    first, second = evidence.notes[:2]
    assert (first.rank, second.rank) == (1, 0)
    assert "ValueError: bad batch 3" in first.text
    assert first.time is not None
    assert "Connection closed by peer" in second.text
    assert first.path is not None
    assert first.path.endswith("attempt_0/1/stderr.log")
    assert first.line == 9


def test_killed_rank_without_console_is_not_said_to_have_failed() -> None:
    """Without the launcher's words, a silent rank's end is no more than a possible early end."""
    evidence = read(DATA / "kill" / "run_x1")
    assert findings(evidence) == {"only-echoes", "rank-finished-early"}
    assert by_id(evidence)["logs.rank-finished-early"].certainty < 1


def test_frames_of_both_ranks() -> None:
    """Frame signatures match the user's frames and quote them with their place."""
    observations = by_id(read(DATA / "barrier" / "run_x1"))
    (barrier,) = observations["frame.barrier"].quotes
    assert barrier.rank == 0
    assert barrier.line == 7
    assert "line 15, in train" in barrier.text
    assert observations["frame.collective"].quotes[0].rank == 1


def test_coverage() -> None:
    """Complete output of every rank covers most, a lone console little, nothing none."""
    assert read(DATA / "raises").log_coverage == pytest.approx(0.9)
    assert read(DATA / "raises.mixed.log").log_coverage == pytest.approx(0.6)
    assert read().log_coverage == 0


def _tree(root: Path, *ranks: str) -> Path:
    for rank, text in enumerate(ranks):
        folder = root / "run_a" / "attempt_0" / str(rank)
        folder.mkdir(parents=True)
        (folder / "stdout.log").write_text("")
        (folder / "stderr.log").write_text(text)
    return root


def _steps(rank: int, count: int, total: int | None = None) -> str:
    of = f"/{total}" if total else ""
    return "".join(f"2026-11-21 10:00:{n:02},000 [rank{rank}] INFO step {n}{of} loss 0.5\n" for n in range(count))


TIMEOUT = (
    '[rank{0}]: Traceback (most recent call last):\n[rank{0}]:   File "/home/user/train.py", line 44, in main\n'
    "[rank{0}]:     loss.backward()\n"
    '[rank{0}]:   File "/opt/venv/lib/python3.11/site-packages/torch/autograd/graph.py", line 829, in _engine_run\n'
    "[rank{0}]:     return engine.run()\n"
    "[rank{0}]: RuntimeError: [/gloo/unbound_buffer.cc:78] Timed out waiting 8000ms for recv operation to complete\n"
)


def test_ranks_in_same_call_and_steps(tmp_path: Path) -> None:
    """All ranks waiting at one line, one of them a step behind."""
    tree = _tree(tmp_path, _steps(0, 6) + TIMEOUT.format(0), _steps(1, 7) + TIMEOUT.format(1))
    assert findings(read(tree)) == {"only-echoes", "ranks-in-same-call", "last-step-differs"}


def test_equal_steps_do_not_differ(tmp_path: Path) -> None:
    """Nothing differs where the counters agree."""
    tree = _tree(tmp_path, _steps(0, 6) + TIMEOUT.format(0), _steps(1, 6) + TIMEOUT.format(1))
    assert findings(read(tree)) == {"only-echoes", "ranks-in-same-call", "last-step-same"}


def test_same_error_on_every_rank(tmp_path: Path) -> None:
    """The same exception from the same line on all ranks is one error, and no rank failed first."""
    trace = (
        'Traceback (most recent call last):\n  File "/home/user/train.py", line 9, in main\n'
        "    raise KeyError(name)\nKeyError: 'text'\n"
    )
    tree = _tree(tmp_path, _steps(0, 2) + trace, _steps(1, 2) + trace)
    assert findings(read(tree)) == {"same-error-on-every-rank", "exception-in-user-code"}


def test_rank_missing(tmp_path: Path) -> None:
    """A rank of four that printed nothing, where ranks other than 0 do print."""
    tree = _tree(tmp_path, _steps(0, 3), _steps(1, 3), "", _steps(3, 3))
    assert "rank-missing" in findings(read(tree))


def test_logging_on_rank_zero_only_is_no_missing_rank(tmp_path: Path) -> None:
    """Silent ranks are no finding where only rank 0 prints."""
    assert "rank-missing" not in findings(read(_tree(tmp_path, _steps(0, 3), "", "", "")))


def test_frozen_midway(tmp_path: Path) -> None:
    """Output that stops at step 4 of 100 without an error is frozen; a finished run is not."""
    assert findings(read(_tree(tmp_path / "a", _steps(0, 5, 100), _steps(1, 5, 100)))) == {"frozen-without-error"}
    done = "2026-11-21 10:01:00,000 [rank{}] INFO training finished\n"
    whole = [_steps(rank, 5, 4) + done.format(rank) for rank in (0, 1)]
    assert findings(read(_tree(tmp_path / "b", *whole))) == set()


def test_only_rank_zero(tmp_path: Path) -> None:
    """Each process saying that the world size is 1 is a finding."""
    log = tmp_path / "train.log"
    log.write_text("INFO world_size=1 rank=0 starting\nINFO world_size=1 rank=0 starting\nstep 1\nstep 2\n")
    assert "only-rank-zero" in findings(read(log))


def test_chatty_library_error_is_not_the_users(tmp_path: Path) -> None:
    """An error raised inside DDP is a failure, but none of the user's code."""
    trace = (
        '[rank1]: Traceback (most recent call last):\n[rank1]:   File "/home/user/train.py", line 9, in main\n'
        "[rank1]:     out = model(x)\n"
        '[rank1]:   File "/opt/lib/python3.11/site-packages/torch/nn/parallel/distributed.py", line 1600, in forward\n'
        "[rank1]:     inputs = self._pre_forward()\n"
        "[rank1]: RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one.\n"
    )
    found = findings(read(_tree(tmp_path, _steps(0, 2), _steps(1, 2) + trace)))
    assert found == {"one-rank-failed-first"}


def test_attempts_are_not_mixed(tmp_path: Path) -> None:
    """Where torchrun restarted the workers, the first attempt with an error is the one that counts."""
    for attempt, text in ((0, "ValueError: first"), (1, "OSError: second")):
        for rank in (0, 1):
            folder = tmp_path / "run_a" / f"attempt_{attempt}" / str(rank)
            folder.mkdir(parents=True)
            trace = f'Traceback (most recent call last):\n  File "/home/u/t.py", line 9, in main\n    go()\n{text}\n'
            (folder / "stderr.log").write_text(trace if rank else "step 1\nstep 2\n")
    notes = read(tmp_path).notes
    assert "first" in notes[0].text
    assert not any("second" in note.text for note in notes)


WATCHDOG = "[rank{0}]:[E1121 10:0{1}:0{0}.000000000 ProcessGroupNCCL.cpp:1870] we will try to dump the debug info\n"


def test_library_lines_are_no_work(tmp_path: Path) -> None:
    """What a library prints about the failure long after the last step does not make its rank the busy one."""
    late = [_steps(rank, 6) + WATCHDOG.format(rank, 8 + rank) + TIMEOUT.format(rank) for rank in (0, 1)]
    assert "rank-still-working" not in findings(read(_tree(tmp_path, *late)))


def test_totals_that_differ_are_different_ends(tmp_path: Path) -> None:
    """17 of 17 on one rank and 17 of 20 on another are not the same place."""
    bar = "{0}: Training:  85%|########  | 17/{1} [00:03<00:01, 9.8it/s]\n"
    labelled = ["".join(f"{rank}: {line}\n" for line in TIMEOUT.format(rank).splitlines()) for rank in (0, 1)]
    log = tmp_path / "srun.log"
    log.write_text(bar.format(0, 20) + bar.format(1, 17) + "".join(labelled))
    assert findings(read(log)) == {"only-echoes", "ranks-in-same-call", "last-step-differs"}


def test_ranks_that_disagree_have_not_failed_first(tmp_path: Path) -> None:
    """The rank that prints a size mismatch is no more at fault than its peer."""
    mismatch = "  what():  op.preamble.length <= op.nbytes. 64 vs 4. Received data size doesn't match expected size\n"
    closed = TIMEOUT.format(1).replace(
        "Timed out waiting 8000ms for recv operation to complete", "Connection reset by peer"
    )
    assert "one-rank-failed-first" not in findings(
        read(_tree(tmp_path, _steps(0, 3) + mismatch, _steps(1, 3) + closed))
    )


def test_what_a_rank_said_last_counts_if_the_run_hangs(tmp_path: Path) -> None:
    """A run whose output just ends may still go on: what its last lines say rests on its hanging, till that is said."""
    tree = _tree(tmp_path, _steps(0, 4) + "2026-11-21 10:01:00,000 [rank0] INFO flushing the queue\n", _steps(1, 4))
    supposed = by_id(read(tree))
    assert supposed["run.last-words-alone"].supposes == supposed["symptom=hang"].supposes == "symptom=hang"
    assert not by_id(read(tree, symptom="hang"))["run.last-words-alone"].supposes
    assert "run.last-words-alone" not in by_id(read(tree, symptom="slow"))


def test_saving_is_a_common_end(tmp_path: Path) -> None:
    """A healthy run whose last line tells of saving is not frozen."""
    last = "2026-11-21 10:01:00,000 [rank0] INFO saving the model to out/final.pt\n"
    assert findings(read(_tree(tmp_path, _steps(0, 4) + last, _steps(1, 4)))) == set()


def _table(others: str) -> str:
    raised = (
        '[rank0]: Traceback (most recent call last):\n[rank0]:   File "/w/train.py", line 7, in <module>\n'
        "[rank0]:     check(args)\n[rank0]: AssertionError: 8 * 8 != 32\n"
    )
    entry = (
        "  time      : 2025-10-10_10:10:{0}\n  host      : a\n  rank      : {1} (local_rank: {1})\n  exitcode  : {2}\n"
    )
    rest = "  error_file: <N/A>\n  traceback : To enable traceback see: https://pytorch.org/docs\n"
    first = entry.format(11, 0, "1 (pid: 140)") + rest
    second = entry.format(*others.split("|")) + rest
    rule = "-" * 60
    return (
        f"{raised}torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n{'=' * 60}\ntrain.py FAILED\n"
        f"{rule}\nFailures:\n[1]:\n{second}{rule}\nRoot Cause (first observed failure):\n[0]:\n{first}{'=' * 60}\n"
    )


@pytest.mark.parametrize(
    ("others", "alone"), [("11|1|1 (pid: 141)", False), ("19|1|1 (pid: 141)", True), ("11|1|-6 (pid: 141)", True)]
)
def test_an_error_of_which_only_one_rank_is_shown(tmp_path: Path, others: str, *, alone: bool) -> None:
    """Ranks that ended alike in the same second and whose output is not here raised it too, as far as one can tell."""
    log = tmp_path / "console.log"
    log.write_text(_table(others))
    assert ("one-rank-failed-first" in findings(read(log))) == alone
