"""What Slurm says of a job: whether it runs, by which number, and where its output goes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import msgspec

_ASK_S = 20.0
_FIRST = re.compile(r"^JobId=(\d+)(?: ArrayJobId=(\d+) ArrayTaskId=(\S+))?", re.MULTILINE)
_STATE = re.compile(r"^ +JobState=(\w+)", re.MULTILINE)
_OUTPUT = re.compile(r"^ +Std(?:Out|Err)=(/.*)$", re.MULTILINE)
"""The last field of its line: a path may hold blanks."""
_RUNS = frozenset({"RUNNING", "COMPLETING", "RESIZING"})
_WAITS = frozenset({"PENDING", "CONFIGURING", "SUSPENDED", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT", "STOPPED"})


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One record of `scontrol show job`: a job, or one task of a job array."""

    number: str
    """Its SLURM_JOB_ID."""
    name: str
    """As users name it: `12`, or `12_3` for a task of an array."""
    state: str = ""
    single: bool = True
    """False for the tasks of an array that wait together: they have no numbers yet."""
    outputs: tuple[Path, ...] = ()


class SlurmJob(msgspec.Struct, frozen=True, kw_only=True):
    """One job, or all tasks of a job array that Slurm still knows; none where it has forgotten the job."""

    tasks: tuple[Task, ...] = ()

    @property
    def live(self) -> bool:
        """Whether it may go on; a job that Slurm does not know has ended."""
        return bool(self.running or self.waiting)

    @property
    def running(self) -> tuple[Task, ...]:
        """The tasks that run now: several, where the whole of an array was named."""
        return tuple(task for task in self.tasks if task.state in _RUNS)

    @property
    def waiting(self) -> tuple[Task, ...]:
        """The tasks that may run later: they wait for their turn, or were suspended."""
        return tuple(task for task in self.tasks if task.state in _WAITS)

    @property
    def outputs(self) -> tuple[Path, ...]:
        """The files that its tasks write to, as the nodes name them."""
        return tuple(dict.fromkeys(path for task in self.running or self.tasks for path in task.outputs))


def show(job: str) -> SlurmJob | None:
    """Return what Slurm knows of a job; None where it does not answer."""
    words = ["scontrol", "show", "job", job]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=_ASK_S, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.returncode:
        return SlurmJob() if b"Invalid job id" in done.stderr else None
    return read(done.stdout.decode("utf-8", "replace"))


def read(text: str) -> SlurmJob:
    """Return what `scontrol show job` printed: a record begins in the first column, its fields follow indented."""
    starts = list(_FIRST.finditer(text))
    ends = [*(start.start() for start in starts[1:]), len(text)]
    return SlurmJob(
        tasks=tuple(_task(start, text[start.end() : end]) for start, end in zip(starts, ends, strict=False))
    )


def _task(first: re.Match[str], record: str) -> Task:
    number, array, task = first.groups()
    state = _STATE.search(record)
    return Task(
        number=number,
        name=number if array is None else f"{array}_{task.partition('%')[0]}",
        single=task is None or task.isdecimal(),
        state="" if state is None else state[1],
        outputs=tuple(dict.fromkeys(map(Path, _OUTPUT.findall(record)))),
    )
