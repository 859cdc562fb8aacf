"""Several runs in one folder are told apart, and only the newest is diagnosed."""

from __future__ import annotations

from pathlib import Path

import built_in
import pytest

from distkb.catalogue.places import cache_directory
from distkb.diagnosis.batch import diagnose
from distkb.intake import read
from distkb.locale import Say
from distkb.report.meaning import Meanings
from distkb.report.story import tell

CATALOGUE = built_in.catalogue()
OLD = "3f2d3d5d-1566-44f9-ab35-644b86312de5_wsa9_fr1"
NEW = "90cd3d5d-aaaa-44f9-ab35-644b86312de5_p0_q1r2x"


def line(minute: int, text: str) -> str:
    """A line of a log with its time."""
    return f"2026-11-20 10:{minute:02}:00,000 [INFO] {text}\n"


def tree(root: Path, folder: str, minute: int, error: str) -> None:
    """What torchrun leaves of two ranks, of which rank 1 raises an error."""
    for rank in (0, 1):
        place = root / folder / "attempt_0" / str(rank)
        place.mkdir(parents=True)
        text = line(minute, f"[rank{rank}] step 1") + line(minute + 1, f"[rank{rank}] step 2")
        raised = f'Traceback (most recent call last):\n  File "t.py", line 3, in main\n    go()\n{error}\n'
        (place / "stderr.log").write_text(text + (raised if rank else ""))
        (place / "stdout.log").write_text("")


def told(root: Path) -> tuple[str, list[tuple[str, bool]]]:
    """The headline, and the runs with whether they are diagnosed."""
    answer = diagnose(built_in.guide(), read(CATALOGUE, [root], cache_dir=cache_directory()))
    runs = [(Path(run.name).name, run.diagnosed) for run in answer.evidence.runs]
    return tell(answer.evidence, Meanings(CATALOGUE), Say("en")), runs


def test_the_newest_of_torchruns_run_folders_is_diagnosed(tmp_path: Path) -> None:
    """The older one is named, and its error is not the run's."""
    tree(tmp_path, OLD, 1, "ValueError: of the old run")
    tree(tmp_path, NEW, 20, "KeyError: 'of the new run'")
    headline, runs = told(tmp_path)
    assert runs == [(OLD, False), (NEW, True)]
    assert "of the new run" in headline
    assert "of the old run" not in headline
    assert f"left out: {OLD}" in headline


def test_what_the_nodes_of_one_job_and_its_launcher_print_is_one_run(tmp_path: Path) -> None:
    """Other ranks speak in each folder, and the job's own output begins when the ranks have ended."""
    for node, (folder, minute) in enumerate((("55_aaaaaaa1", 1), ("55_aaaaaaa2", 2))):
        for local in (0, 1):
            place = tmp_path / "elastic" / folder / "attempt_0" / str(local)
            place.mkdir(parents=True)
            (place / "stdout.log").write_text(line(minute, f"[rank{2 * node + local}] step 1"))
    (tmp_path / "retail-55.out").write_text(line(3, "sending closing signal"))
    assert told(tmp_path)[1] == []
    (tmp_path / "retail-56.out").write_text(line(4, "sending closing signal"))
    assert [name for name, _ in told(tmp_path)[1]] == ["55_aaaaaaa1", "retail-56"]


def test_the_folders_of_two_nodes_are_one_run(tmp_path: Path) -> None:
    """Under one run id and at one time, whatever machine failed first."""
    tree(tmp_path, "job7_aaaaaaa1", 1, "ValueError: here")
    tree(tmp_path, "job7_aaaaaaa2", 2, "ValueError: there")
    assert told(tmp_path)[1] == []


def test_folders_with_files_of_the_same_names_are_starts_of_one_job(tmp_path: Path) -> None:
    """Also where their lines carry the time of day only and one start follows the other at once; nodes overlap."""
    for folder, second in (("1129-103833", 33), ("1129-103836", 36)):
        (tmp_path / folder).mkdir()
        at = f"10:38:{second + 1}"
        text = f"10:38:{second} hello\n{at} step 1\nE1129 {at}.772260560 x.cpp:67] failed\n"
        for rank in (0, 1):
            (tmp_path / folder / f"task{rank}.log").write_text(text)
    assert told(tmp_path)[1] == [("1129-103833", False), ("1129-103836", True)]
    (tmp_path / "1129-103833" / "task0.log").write_text("10:38:33 hello\n10:38:59 step 1\n")
    assert told(tmp_path)[1] == []


def test_runs_that_go_on_beside_one_another_are_told_apart_by_their_names(tmp_path: Path) -> None:
    """The one that began last is diagnosed, also where it ended first; output and errors of one rank are one run."""
    for name, starts, steps in (("a", 1, 20), ("b", 10, 1)):
        for rank in (0, 1):
            text = line(starts, "start with 2 ranks") + "".join(
                line(starts + at, f"step {at}") for at in range(1, steps)
            )
            (tmp_path / f"{name}.rank{rank}.log").write_text(text)
    assert told(tmp_path)[1] == [("a.rank#.log", False), ("b.rank#.log", True)]
    for rank in (0, 1):
        (tmp_path / f"a.rank{rank}.log").unlink()
        (tmp_path / f"b.rank{rank}.err").write_text(line(15, "warning: slow") + line(16, "it failed"))
    assert told(tmp_path)[1] == []


def test_an_earlier_start_that_trained_is_told(tmp_path: Path) -> None:
    """Where this one came to its steps too, nothing follows from it."""
    steps = "".join(f"10:0{minute}:00 step {minute} loss 0.5\n" for minute in range(1, 6))
    for folder, text in (("first", steps), ("second", "10:20:00 hello\n10:21:00 RuntimeError: refused\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "train.log").write_text(text)

    def worked() -> bool:
        return any(o.id == "run.worked-before" for o in read(CATALOGUE, [tmp_path]).observations)

    assert worked()
    (tmp_path / "second" / "train.log").write_text(steps.replace("10:", "11:"))
    assert not worked()


@pytest.mark.parametrize(("second", "runs"), [(30, [("train-4711", False), ("train-4712", True)]), (1, [])])
def test_outputs_of_jobs_are_runs_where_their_times_do_not_overlap(
    tmp_path: Path, second: int, runs: list[tuple[str, bool]]
) -> None:
    """Two files of one job belong together."""
    for job, minute in (("4711", 1), ("4712", second)):
        (tmp_path / f"train-{job}.out").write_text(line(minute, "epoch 1") + line(minute + 2, "epoch 2"))
        (tmp_path / f"train-{job}.err").write_text(line(minute, "warning: slow"))
    assert told(tmp_path)[1] == runs


def test_without_times_nothing_is_left_out(tmp_path: Path) -> None:
    """Where it is not sure which run is newer, all files are read as before."""
    for job in ("4711", "4712"):
        (tmp_path / f"train-{job}.out").write_text("epoch 1\nepoch 2\n")
    assert told(tmp_path)[1] == []


@pytest.mark.parametrize(("hour", "runs"), [(11, [("train-4711", False), ("train-4712", True)]), (19, [])])
def test_times_of_day_order_runs_of_one_sitting(tmp_path: Path, hour: int, runs: list[tuple[str, bool]]) -> None:
    """Without a date, times that lie many hours apart may be of two days and order nothing."""
    for job, at in (("4711", 10), ("4712", hour)):
        (tmp_path / f"train-{job}.out").write_text(f"[{at}:01:00] epoch 1\n[{at}:03:00] epoch 2\n")
    assert told(tmp_path)[1] == runs


def console(first: int, *, until: int, more: str = "") -> str:
    """What two ranks print together from one minute on."""
    begun = "".join(line(first, f"[rank{rank}] start with 2 ranks, batch {first}") for rank in (0, 1))
    steps = (line(minute, f"[rank{rank}] step {minute} loss 1.5") for minute in range(first, until) for rank in (0, 1))
    return begun + "".join(steps) + more


RAISED = 'Traceback (most recent call last):\n  File "t.py", line 3, in main\n    go()\nKeyError: 1\n'


def test_runs_that_begin_alike_one_after_another_are_told_apart(tmp_path: Path) -> None:
    """Where the same ranks begin anew in a later file, the earlier file is of an older run."""
    (tmp_path / "first.log").write_text(console(1, until=9))
    (tmp_path / "second.log").write_text(console(20, until=25, more=RAISED))
    assert told(tmp_path)[1] == [("first.log", False), ("second.log", True)]


def test_output_and_errors_in_files_of_their_own_are_one_run(tmp_path: Path) -> None:
    """Errors that come after the last line of the output do not begin a run, and neither does another node."""
    (tmp_path / "train.stdout").write_text(console(1, until=9))
    (tmp_path / "train.stderr").write_text(line(12, "[rank0] it failed") + f"[rank0]: {RAISED}")
    assert told(tmp_path)[1] == []
    (tmp_path / "train.stderr").unlink()
    late = console(20, until=29).replace("rank0", "rank2").replace("rank1", "rank3")
    (tmp_path / "other.log").write_text(late)
    assert told(tmp_path)[1] == []


def test_a_log_that_was_rotated_is_one_run(tmp_path: Path) -> None:
    """What goes on in another file begins with a later line, and belongs to the same run."""
    (tmp_path / "train.log.1").write_text(console(1, until=9))
    (tmp_path / "train.log").write_text(console(10, until=20).partition("batch 10\n")[2].partition("\n")[2] + RAISED)
    assert told(tmp_path)[1] == []


def test_a_console_and_the_ranks_own_logs_are_one_run(tmp_path: Path) -> None:
    """A rank that begins a moment after the other ended begins no run, nor does a table with times in whole seconds."""

    def at(second: str, rank: int, text: str) -> str:
        return f"2026-11-27 17:53:{second} [rank{rank}] {text}\n"

    own = [at("45,526", 0, "sharded") + at("45,531", 0, "first batch"), at("45,317", 1, "sharded")]
    for rank, text in enumerate(own):
        folder = tmp_path / "ranks" / "none_ji0sxnot" / "attempt_0" / str(rank)
        folder.mkdir(parents=True)
        (folder / "stderr.log").write_text(text)
    (tmp_path / "console.log").write_text("".join(reversed(own)) + "  time      : 2026-11-27_17:53:45\n")
    assert told(tmp_path)[1] == []
