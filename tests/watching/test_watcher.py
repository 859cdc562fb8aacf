"""A watcher that knows a job by Slurm only, driven look by look; time is what the test says."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, ClassVar

import pytest

from distkb.watching import processes, slurm
from distkb.watching.event import Event
from distkb.watching.examiner import ExamineRequest, Kept, Message, Seen
from distkb.watching.started import Signals
from distkb.watching.verdict import JobVerdict
from distkb.watching.watcher import Options, Watcher

LIMIT_S = 10.0


class Look:
    """Stands for the process that looks at the ranks: it answers at once, with what the test put there."""

    written: int | None = 0
    taken = 0
    pids: tuple[int, ...] = ()
    kept: ClassVar[list[Message]] = []

    def __init__(self, request: ExamineRequest, *_arguments: object) -> None:
        type(self).taken += 1
        type(self).pids = request.pids

    def messages(self) -> list[Message]:
        """Say that all ranks wait, and how much they wrote so far."""
        kept, type(self).kept = type(self).kept, []
        return [Seen(JobVerdict(outcome="stuck"), self.written), *kept]

    def go(self, *_arguments: object) -> None:
        """Keep nothing."""

    def cancel(self) -> None:
        """End nothing."""


def watched(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, log: Path, *, elsewhere: bool = True
) -> tuple[Watcher, list[Event], Any]:
    """Return a watcher of job 7, what it tells, and a function that lets so many seconds go by."""
    look = type("OneLook", (Look,), {"taken": 0, "kept": []})
    monkeypatch.setattr("distkb.watching.watcher.Examiner", look)
    told: list[Event] = []
    options = Options(slurm_job="7", elsewhere=elsewhere, logs=(log,), stall_s=LIMIT_S, out=tmp_path)
    signals = Signals(forward=False)
    signals.restore()
    one = Watcher(options, told.append, signals)
    clock = [one._last_look]

    def passes(seconds: float) -> None:
        for _ in range(round(seconds)):
            clock[0] += 1.0
            one._look(clock[0])
            one._watch_closely(clock[0])

    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    return one, told, (passes, look)


def test_a_job_whose_output_nobody_here_can_read_is_silent_only_when_its_ranks_write_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What the nodes say their ranks wrote stands for the log: no alarm while it grows, one when it has stood still."""
    _, told, (passes, look) = watched(monkeypatch, tmp_path, tmp_path / "not" / "here.log")
    for written in (100, 200, 300):
        look.written = written
        passes(LIMIT_S)
        assert told == []
    assert look.taken >= 3
    passes(2 * LIMIT_S)
    assert [event.kind for event in told] == ["stalled"]
    look.kept = [Kept(bundle="b", answer="a", text="")]
    passes(2 * LIMIT_S)
    assert [event.kind for event in told] == ["stalled", "answer"]
    look.written = 400
    passes(LIMIT_S + 2)
    assert [event.kind for event in told] == ["stalled", "answer", "goes-on"]


def test_a_job_whose_log_is_read_here_is_silent_when_that_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Then the first look at the limit is enough."""
    log = tmp_path / "job.log"
    log.write_text("step 1\n", encoding="utf-8")
    _, told, (passes, _) = watched(monkeypatch, tmp_path, log)
    passes(LIMIT_S + 2)
    assert [event.kind for event in told] == ["stalled"]


def test_a_job_that_waits_for_its_turn_is_not_silent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its time begins when it runs; and it has ended when Slurm says so."""
    one, told, (passes, _) = watched(monkeypatch, tmp_path, tmp_path / "later.log")
    state = ["PENDING"]
    monkeypatch.setattr(
        slurm, "show", lambda _job: slurm.SlurmJob(tasks=(slurm.Task(number="7", name="7", state=state[0]),))
    )
    passes(LIMIT_S - 4)
    one._due_at["check"] = 0.0
    assert not one._over()
    passes(LIMIT_S - 4)
    assert told == []
    state[0] = "COMPLETED"
    one._due_at["check"] = 0.0
    assert one._over()
    assert [event.kind for event in told] == ["ended"]


def test_a_rank_that_came_late_is_not_gone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A slow machine starts ranks one by one: who is there is found anew before anybody is looked at."""
    here = [processes.RankProcess(pid=pid, rank=pid - 100, began=1) for pid in (100, 101)]
    monkeypatch.setattr(processes, "find", lambda *_: list(here))
    monkeypatch.setattr(processes, "alive", lambda _: True)
    _, told, (passes, look) = watched(monkeypatch, tmp_path, tmp_path / "job.log", elsewhere=False)
    passes(3)
    here.append(processes.RankProcess(pid=102, rank=2, began=2))
    passes(LIMIT_S)
    assert look.pids == (100, 101, 102)
    assert [event.kind for event in told] == ["found", "found", "stalled"]
