"""What a rank printed of its own work, apart from what tells of failures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from distkb.evidence.run.processes import Line, Process, Run
    from distkb.evidence.run.timeline import Event, Timeline

SEEN = 200
"""Characters of a line by which it is told whose it is."""


def work_of(run: Run, timeline: Timeline, *, warnings: bool = False) -> dict[str, list[Line]]:
    """What each process printed of its own work, by its key; with what it warned of, if wanted."""
    failed: dict[str, list[Event]] = {}
    for event in timeline.events:
        failed.setdefault(event.process, []).append(event)
    return {
        process.key: work_lines(process, failed.get(process.key, ()), warnings=warnings) for process in run.processes
    }


def own_words(run: Run, work: Mapping[str, list[Line]]) -> dict[str, list[Line]]:
    """The lines of each process once: not those of a console where the process has files of its own."""
    whole = {process.key for process in run.processes if process.whole}
    return {
        key: [line for line in lines if key not in whole or line.path not in run.consoles]
        for key, lines in work.items()
    }


def work_lines(process: Process, events: Sequence[Event], *, warnings: bool = False) -> list[Line]:
    """The end of a process's output without what tells of failures."""
    no_work = _NO_LINE if warnings else _NO_WORK
    covered = {(trace.path, trace.line + index) for trace in process.traces for index in trace.chain.consumed} | {
        (event.path, event.line) for event in events
    }
    openings = {(trace.path, trace.line) for trace in process.traces}
    kept: list[Line] = []
    for line in (*process.opening, *process.tail):
        place = (line.path, line.number)
        if place in openings:  # a progress bar may stand before the traceback, which does not end its line first
            before = _OPENING.sub("", line.text).strip()
            kept += [msgspec.structs.replace(line, text=before)] if before else []
        elif place not in covered and not no_work.search(line.text[:SEEN]) and not LAUNCHER.search(line.text[:SEEN]):
            kept.append(line)
    return kept


LAUNCHER = re.compile(
    r"^(?:torchrun\b|[WEI]\d{4} .{0,80}torch/)|torch/distributed/(?:elastic|run)"
    r"|^\s*(?:time|host|rank|exitcode|error_file|traceback) {2,}: |^\[\d{1,5}\]:\s*$"
)
"""Lines that torchrun prints on a rank's console, its table of failures too: nobody's work, although they may carry a
task's label."""
_OPENING = re.compile(r"(?:\[[\w-]+\]: ?)?Traceback \(most recent call last\):.*")
_NO_LINE = re.compile(
    r"\b(?:Watchdog|terminate called|what\(\)|NCCL|ProcessGroup)\b|\b\w+\.(?:cpp|cc|hpp|h|cu):\d+\]|^frame #\d+:"
)
"""Lines that nobody's program prints of its work, not even as a warning."""
_NO_WORK = re.compile(
    r"\b(?:Error|Exception|WARN(?:ING)?|Watchdog|terminate called|what\(\)|NCCL|ProcessGroup)\b"
    r"|\b\w+\.(?:cpp|cc|hpp|h|cu):\d+\]|^frame #\d+:|^\[TC\]"
)
"""Lines that libraries print about failures, however long after the rank's last step."""
