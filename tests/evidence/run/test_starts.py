"""Runs that follow one another in one file are told apart, and only the newest is diagnosed."""

from __future__ import annotations

import io
from pathlib import Path

import built_in
import pytest
from hypothesis import given
from hypothesis import strategies as st

from distkb.catalogue.places import cache_directory
from distkb.evidence.text.opening import SomeLines
from distkb.intake import read

CATALOGUE = built_in.catalogue()
JOBS = Path(__file__).parents[2] / "slurm" / "jobs"
OPENING = "loading 12 shards\nworld size 4, 96 batches\n"
PREEMPTED = "slurmstepd: error: *** JOB 7 ON node1 CANCELLED AT 2026-11-20T09:49:11 DUE TO PREEMPTION ***\n"
RAISED = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n    go()\nValueError: no\n'
TABLE = f"""torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
{"=" * 60}
train.py FAILED
{"-" * 60}
Root Cause (first observed failure):
[0]:
  time      : 2026-11-20_09:36:49
  rank      : 3 (local_rank: 1)
  exitcode  : 1 (pid: 835)
{"=" * 60}
"""


def steps(first: int, last: int) -> str:
    """The lines of some steps."""
    return "".join(f"step {step} loss {1 / (step + 1):.4f}\n" for step in range(first, last))


def runs(root: Path, *texts: str) -> list[str]:
    """The runs that are told of where files with these texts are given."""
    for number, text in enumerate(texts):
        (root / f"{number}.log").write_text(text)
    return [Path(run.name).name for run in read(CATALOGUE, [root], cache_dir=cache_directory()).runs]


def observed(root: Path) -> set[str]:
    """What is observed in a folder."""
    return {one.id for one in read(CATALOGUE, [root], cache_dir=cache_directory()).observations if one.present}


def test_a_requeued_job_that_appends_to_its_file_is_two_runs(tmp_path: Path) -> None:
    """The older one's end says nothing of the newer one."""
    assert runs(tmp_path, OPENING + steps(0, 9) + PREEMPTED + OPENING + steps(5, 8) + RAISED) == [
        "0.log:1-12",
        "0.log:13-21",
    ]
    seen = observed(tmp_path)
    assert "ending.preempted" not in seen
    evidence = read(CATALOGUE, [tmp_path], cache_dir=cache_directory())
    shown = {quote.line for one in evidence.observations if one.present for quote in one.quotes if quote.path}
    assert shown <= set(range(13, 22))


def test_a_run_that_only_ended_is_one(tmp_path: Path) -> None:
    """What a launcher and dying ranks still print after an end begins no run."""
    assert runs(tmp_path, OPENING + steps(0, 9) + PREEMPTED + steps(8, 10) + RAISED) == []


def test_counts_that_fall_back_after_an_end_begin_a_run(tmp_path: Path) -> None:
    """Also where the first lines differ, since it went on from a checkpoint."""
    text = OPENING + steps(0, 60) + PREEMPTED + "resuming from step 40\n" + steps(40, 50)
    assert runs(tmp_path, text) == ["0.log:1-63", "0.log:64-74"]


@pytest.mark.parametrize("width", [10, 1500, 2500])
def test_counts_fall_back_in_files_of_which_only_both_ends_are_kept(tmp_path: Path, width: int) -> None:
    """Whether or not these overlap."""
    text = OPENING + steps(0, 60).replace("\n", f" {'.' * width}\n") + PREEMPTED + "resuming from step 40\n"
    assert runs(tmp_path, text + steps(40, 50)) == ["0.log:1-63", "0.log:64-74"]


def test_a_second_launch_after_torchruns_table_begins_a_run(tmp_path: Path) -> None:
    """It begins behind the table, of which every launch prints its own."""
    text = OPENING + steps(0, 9) + RAISED + TABLE
    assert runs(tmp_path, text + text) == ["0.log:1-25", "0.log:26-50"]


def test_a_task_that_ends_alone_ends_no_run(tmp_path: Path) -> None:
    """The other tasks of the step go on to begin."""
    begun = "".join(f"{task}: {line}\n" for line in OPENING.splitlines() for task in (0, 2))
    text = f"1: loading 12 shards\nsrun: error: node1: task 1: Exited with exit code 1\n{begun}"
    assert (
        runs(tmp_path, text + "".join(f"{task}: {line}\n" for line in steps(0, 9).splitlines() for task in (0, 2)))
        == []
    )


def test_torchruns_restarts_are_one_run(tmp_path: Path) -> None:
    """The agent starts the ranks again without having ended."""
    agent = (
        "E1120 11:20:41.003000 912 torch/distributed/elastic/multiprocessing/api.py:1002]"
        " failed (exitcode: 1) local_rank: 0 (pid: 930) of binary: /usr/bin/python3\n"
    )
    text = OPENING + steps(0, 9) + RAISED
    assert runs(tmp_path, text + agent + text + TABLE) == []


@pytest.mark.parametrize(("later", "count"), [("09:30", 2), ("09:10", 0)])
def test_without_a_launcher_times_tell_a_run_from_another_ranks_output(tmp_path: Path, later: str, count: int) -> None:
    """The outputs of ranks that were put into one file overlap in time."""

    def stamped(minute: str) -> str:
        lines = (OPENING + steps(0, 9)).splitlines()
        return "".join(f"2026-11-20 {minute}:{second:02}  {line}\n" for second, line in enumerate(lines)) + RAISED

    assert len(runs(tmp_path, stamped("09:10") + stamped(later))) == count


@pytest.mark.parametrize(("pause", "count"), [(40, 2), (3, 0)])
def test_a_requeued_job_that_goes_on_is_told_by_the_pause_before_its_steps(
    tmp_path: Path, pause: int, count: int
) -> None:
    """It says neither what the first one said at its start nor a step again; a rank may print on while it is ended."""
    clock = 49 * 60 - 19
    text = "no checkpoint\n"
    for step in range(20):
        clock += 3
        if step == 10:
            text += f"{PREEMPTED}srun: forcing job termination\nloaded latest.pt\n"
            clock += pause
        text += f"2026-11-20 09:{clock // 60:02}:{clock % 60:02} step {step} loss {1 / (step + 1):.4f}\n"
    assert len(runs(tmp_path, text)) == count


def test_two_processes_that_begin_at_once_run_side_by_side(tmp_path: Path) -> None:
    """A shell that starts two ranks gets one whole output behind the other where both fail at once."""

    def stamped(second: str) -> str:
        return f"2026-11-20 09:10:{second}  loading 12 shards\n2026-11-20 09:10:{second}  no launcher\n{RAISED}"

    assert runs(tmp_path, stamped("07.192") + stamped("07.245")) == []


def agent(pid: int, host: str) -> str:
    """What one machine's torchrun prints when it begins, without and with the table in which it ends."""
    banner = f"W1120 13:00:0{pid % 10}.100000 {pid} torch/distributed/run.py:792] Setting OMP_NUM_THREADS to be 1\n"
    return f"{banner}{TABLE.replace('  rank ', f'  host      : {host}{chr(10)}  rank ')}"


def test_the_end_of_one_machines_torchrun_is_not_the_runs(tmp_path: Path) -> None:
    """Those of slower machines begin behind it in the same console."""
    first, second = agent(1002, "n2"), agent(1005, "n5")
    assert runs(tmp_path, f"conda env llm ready\n{first}conda env llm ready\n{second}") == []


def test_the_same_machines_torchrun_ends_once_in_a_run(tmp_path: Path) -> None:
    """Also where another rank raised the error the second time."""
    first, second = agent(1002, "n2"), agent(1005, "n2")
    text = f"conda env llm ready\n[rank0]: {RAISED}{first}conda env llm ready\n[rank1]: {RAISED}{second}"
    assert len(runs(tmp_path, text)) == 2


def test_a_process_that_speaks_on_both_sides_is_of_one_run(tmp_path: Path) -> None:
    """An agent's number stands in its lines."""
    ends = (
        "W1120 13:00:02.100000 1002 torch/distributed/elastic/multiprocessing/api.py:1028] Sending process 7 SIGTERM\n"
    )
    text = f"conda env llm ready\n{ends}{TABLE}conda env llm ready\n{ends}{TABLE}"
    assert runs(tmp_path, text) == []


def test_a_program_that_tries_again_is_one_run(tmp_path: Path) -> None:
    """Its very first line does not come again."""
    tried = "".join(f"10:0{n}:00 {line}\n" for n, line in enumerate(("building the model", "world size 4, 96 batches")))
    assert (
        runs(tmp_path, f"10:00:00 job of alice\n{tried}{RAISED}{tried}{RAISED}".replace("10:00:00 b", "10:00:01 b"))
        == []
    )


@pytest.mark.parametrize(
    "word",
    [
        "[2026-11-20 10:00:00,100] [ERROR] [launch.py:325:sigkill_handler] ['python'] exits with return code = 1",
        "mpirun noticed that process rank 1 with PID 0 on node c7 exited on signal 7 (Bus error).",
        "slurmstepd: error: *** STEP 7712.0 ON c7 CANCELLED AT 2026-05-05T05:05:05 ***",
        "./train.sh: line 7:  4242 Killed                  python train.py",
        "command terminated with exit code 137",
    ],
)
def test_last_words_of_other_launchers_end_a_run_where_it_begins_anew(tmp_path: Path, word: str) -> None:
    """By themselves they end a process, and others may go on."""
    text = OPENING + steps(0, 9)
    assert len(runs(tmp_path, f"{text}{word}\n{text}{word}\n")) == 2
    assert runs(tmp_path, f"{text}{word}\n{steps(9, 20)}") == []


def test_the_tables_of_several_nodes_are_one_run() -> None:
    """Each node's agent prints one, one behind the other."""
    for job in (
        "35-gated-evaluation",
        "11-scancel-training",
        "22-port-per-task",
        "50-host-memory-killed",
        "17-ntasks-times-nproc-static",
    ):
        assert not read(CATALOGUE, [JOBS / job / "artifacts"], cache_dir=cache_directory()).runs


@pytest.mark.parametrize(("job", "over"), [("14-requeue-resumes", False), ("15-requeue-from-scratch", True)])
def test_a_real_requeue_that_goes_on_is_told_from_one_that_starts_over(job: str, over: bool) -> None:
    """What the older run reached is held against where the newer one began."""
    evidence = read(CATALOGUE, [JOBS / job / "artifacts"], cache_dir=cache_directory())
    assert [run.diagnosed for run in evidence.runs] == [False, True]
    assert {one.present for one in evidence.observations if one.id == "run.started-over"} == {over}


def test_what_ended_a_run_that_was_taken_up_hardly_counts(tmp_path: Path) -> None:
    """It is still told; where the run began anew instead, it explains why."""
    for first, sure in ((5, False), (0, True)):
        runs(tmp_path, OPENING + steps(0, 9) + PREEMPTED + OPENING + steps(first, 20))
        evidence = read(CATALOGUE, [tmp_path], cache_dir=cache_directory())
        assert {one.certainty == 1 for one in evidence.observations if one.id == "ending.preempted"} == {sure}


def test_another_world_size_than_before_is_told(tmp_path: Path) -> None:
    """The runs before the newest are looked at for it."""
    after = (OPENING + steps(0, 9)).replace("world size 4", "world size 2")
    runs(tmp_path, OPENING + steps(0, 9) + PREEMPTED + after)
    assert "changes.world-size" in observed(tmp_path)


@given(st.lists(st.binary(max_size=9), max_size=8), st.integers(1, 9), st.none() | st.integers(0, 9), st.integers(1, 7))
def test_some_lines_are_those_of_the_text(lines: list[bytes], first: int, more: int | None, size: int) -> None:
    """However the bytes come in."""
    text = b"\n".join(line.replace(b"\n", b"") for line in lines)
    stop = None if more is None else first + more
    reader = SomeLines(io.BytesIO(text), first, stop)
    got = b""
    while part := reader.read(size):
        got += part
    kept = [part + b"\n" for part in text.split(b"\n")]
    kept[-1] = kept[-1][:-1]
    assert got == b"".join(kept[first - 1 : None if stop is None else stop - 1])
