"""What a rank printed of its own work, apart from what tells of failures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distkb.evidence.processes import Line, Process
    from distkb.evidence.timeline import Event


def work_lines(process: Process, events: Sequence[Event]) -> list[Line]:
    """The end of a process's output without what tells of failures."""
    covered = {(trace.path, trace.line + index) for trace in process.traces for index in trace.chain.consumed} | {
        (event.path, event.line) for event in events
    }
    openings = {(trace.path, trace.line) for trace in process.traces}
    kept: list[Line] = []
    for line in process.tail:
        place = (line.path, line.number)
        if place in openings:  # a progress bar may stand before the traceback, which does not end its line first
            before = _OPENING.sub("", line.text).strip()
            kept += [msgspec.structs.replace(line, text=before)] if before else []
        elif place not in covered and not _NO_WORK.search(line.text[:200]):
            kept.append(line)
    return kept


_OPENING = re.compile(r"(?:\[[\w-]+\]: ?)?Traceback \(most recent call last\):.*")
_NO_WORK = re.compile(
    r"\b(?:Error|Exception|WARN(?:ING)?|Watchdog|terminate called|what\(\)|NCCL|ProcessGroup)\b"
    r"|\b\w+\.(?:cpp|cc|hpp|h|cu):\d+\]|^frame #\d+:|^\[TC\]"
)
"""Lines that libraries print about failures, however long after the rank's last step."""
