"""What a rank printed of its own work."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_samples import TEXTS, assembled, derived, lines, observed, scan

from distkb.evidence.run.lines import Lines
from distkb.evidence.run.processes import Process, Run
from distkb.evidence.run.timeline import Timeline, Times
from distkb.evidence.run.work import own_words, work_lines, work_of

NOTHING = Timeline(events=(), failures=(), times=Times())
LAUNCHERS = [
    "W1123 09:20:47.895000 291 torch/distributed/elastic/agent/server/api.py:753] Received 15 death signal",
    "  exitcode  : 1 (pid: 1236) ",
    "  rank      : 2 (local_rank: 0)",
    "[0]:",
]


@given(st.lists(TEXTS, max_size=10))
def test_work_is_what_the_process_printed_in_order(texts: list[str]) -> None:
    """Every line of work is one of the process's own, in the order of printing, with and without warnings."""
    process = Process(key="rank 0", rank=0, tail=Lines.given(lines(*texts)))
    strict, wide = (work_lines(process, (), warnings=warnings) for warnings in (False, True))
    numbers = [line.number for line in wide]
    assert numbers == sorted(numbers)
    assert {line.number for line in strict} <= set(numbers) <= {line.number for line in process.tail}


@pytest.mark.parametrize("text", LAUNCHERS)
def test_what_a_launcher_prints_on_a_console_is_nobodys_work(text: str) -> None:
    """The lines of torchrun are no work of the rank whose label they carry, not even as warnings."""
    process = Process(key="rank 0", rank=0, tail=Lines.given(lines("step 7 loss 0.25", text)))
    for warnings in (False, True):
        assert [line.text for line in work_lines(process, (), warnings=warnings)] == ["step 7 loss 0.25"]


@pytest.mark.parametrize("text", ["===== epoch 3 =====", "rank 2 : step 4", "time: 0.3 s", "[0]: step 3"])
def test_what_only_looks_like_a_launchers_line_is_work(text: str) -> None:
    """Rules, times and ranks that the program itself prints stay."""
    process = Process(key="rank 0", rank=0, tail=Lines.given(lines(text)))
    assert [line.text for line in work_lines(process, ())] == [text]


def test_a_cancelled_step_is_no_step_of_training() -> None:
    """A job that trained evenly until its time limit shows no rank at another step, and none that works on alone."""
    trained = [f"{rank}: [rank {rank}] step {step} loss 0.5" for step in range(230, 234) for rank in range(4)]
    ending = [
        "0: slurmstepd-node1: error: *** STEP 10.0 ON node1 CANCELLED AT 2026-11-23T09:18:38 DUE TO TIME LIMIT ***",
        "srun: error: node1: tasks 0-3: Terminated",
    ]
    seen = observed(scan("\n".join([*trained, *ending]) + "\n"))
    assert not {"logs.last-step-differs", "logs.rank-still-working", "run.last-words-alone"} & set(seen)


def test_warnings_are_words_but_no_work() -> None:
    """A warning counts only where what a rank said is wanted."""
    process = Process(key="rank 0", rank=0, tail=Lines.given(lines("step 1", "WARNING: empty batch, skipped")))
    assert [line.number for line in work_lines(process, ())] == [1]
    assert [line.number for line in work_lines(process, (), warnings=True)] == [1, 2]


def test_a_progress_bar_before_a_traceback_stays() -> None:
    """The bar that a traceback interrupts on its line is the rank's last work."""
    text = "step 1\n 10%|# | 1/10 Traceback (most recent call last):\n"
    text += '  File "/home/user/train.py", line 3, in main\n    step()\nValueError: no\n'
    result = derived(scan(text))
    work = work_of(result.run, result.timeline)
    assert [line.text for said in work.values() for line in said] == ["step 1", "10%|# | 1/10"]


def test_what_a_console_repeats_of_a_ranks_file_counts_once() -> None:
    """Where a rank has a file of its own, its lines on the shared console are not said a second time."""
    own = Process(key="rank 0", rank=0, whole=True)
    run = Run(processes=[own], consoles={"console.log"})
    said = own_words(run, {"rank 0": [*lines("step 1", path="0.log"), *lines("step 1", path="console.log")]})
    assert [line.path for line in said["rank 0"]] == ["0.log"]


def test_a_console_alone_keeps_its_lines() -> None:
    """Ranks that are known from a console only keep what they said there."""
    run = assembled("[rank0]: step 1\n[rank1]: step 1\n")
    said = own_words(run, work_of(run, NOTHING))
    assert {key: len(found) for key, found in said.items()} == {"rank 0": 1, "rank 1": 1}
