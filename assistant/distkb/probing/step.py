"""Brings together what a probe saw in each task of one Slurm step: `srun distkb probe env` is one answer.

The tasks leave their documents in a folder that only this user can enter, in the directory they run in; the first task
takes them and removes it. A task whose document does not come is named, and never taken for one with nothing wrong.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from distkb.probing.document import RawDocument

WAIT_S = 10.0
"""Seconds that the first task waits, behind its own document, for tasks that did not even begin."""
LATER_S = 20.0
"""Seconds beyond the deadline of the probe that a task waits for the others, behind its own document."""
_LOOK_S = 0.05
_MOST_TASKS = 4096
_MOST_BYTES = 8 << 20


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """This process as one of the tasks of a step."""

    number: int
    count: int
    is_first_here: bool
    """Whether it is the first of its node."""
    folder: Path


def task_of(environ: Mapping[str, str], directory: Path) -> Task | None:
    """Return which task this is; None outside a step of several tasks, and in an interactive shell of one."""
    numbers = [environ.get(name, "") for name in ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_STEP_ID")]
    job = environ.get("SLURM_JOB_ID", "")
    if "SLURM_PTY_PORT" in environ or not all(text.isdecimal() and text.isascii() for text in (*numbers, job)):
        return None
    number, count, step = map(int, numbers)
    if not number < count or not 1 < count <= _MOST_TASKS:
        return None
    folder = directory / f".distkb-step-{int(job)}.{step}"
    return Task(number=number, count=count, is_first_here=environ.get("SLURM_LOCALID") == "0", folder=folder)


def begin(task: Task) -> bool:
    """Say that this task takes part; returns whether the folder can be used."""
    if not _own_folder(task.folder):
        return False
    try:
        (task.folder / f"{task.number}.here").touch(mode=0o600)
    except OSError:
        return False
    return True


def hand_over(task: Task, raw: RawDocument, until: float) -> bool:
    """Leave the document for the first task; returns whether it was taken before a moment of the monotonic clock."""
    file = task.folder / f"{task.number}.json"
    try:
        part = file.with_suffix(".part")
        part.touch(mode=0o600)
        part.write_bytes(msgspec.json.encode(raw))
        part.rename(file)
    except OSError:
        return False
    while time.monotonic() < until:
        if not file.exists():
            return True
        time.sleep(_LOOK_S)
    _remove(task.folder)
    return False


def gather(task: Task, own: RawDocument, until: float) -> dict[int, RawDocument]:
    """Return the documents by task; slow tasks are waited for until a moment of the monotonic clock."""
    found = {task.number: own}
    patience = time.monotonic() + WAIT_S
    while len(found) < task.count and time.monotonic() < until:
        left = [number for number in range(task.count) if number not in found]
        if time.monotonic() > patience and not any((task.folder / f"{number}.here").exists() for number in left):
            break
        for number in left:
            document = _taken(task.folder / f"{number}.json")
            if document is not None:
                found[number] = document
        time.sleep(_LOOK_S)
    _remove(task.folder)
    return found


def _taken(file: Path) -> RawDocument | None:
    try:
        if file.stat().st_size > _MOST_BYTES:
            return None
        document = msgspec.json.decode(file.read_bytes(), type=RawDocument)
        file.unlink()
    except (OSError, msgspec.DecodeError):
        return None
    return document


def _own_folder(folder: Path) -> bool:
    """Make the folder; one that somebody else made, or others may enter, is not used."""
    try:
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        status = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o077


def _remove(folder: Path) -> None:
    with contextlib.suppress(OSError):
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()
