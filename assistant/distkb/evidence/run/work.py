"""What a rank printed of its own work, apart from what tells of failures."""

from __future__ import annotations

import re
from array import array
from typing import TYPE_CHECKING

import msgspec

from distkb.evidence.run.lines import FileExcerpt, Line, Lines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from distkb.evidence.run.processes import Process, Run
    from distkb.evidence.run.timeline import Event, Timeline

SEEN = 200
"""Characters of a line by which it is told whose it is."""


def work_of(run: Run, timeline: Timeline, *, warnings: bool = False) -> dict[str, Lines]:
    """What each process printed of its own work, by its key; with what it warned of, if wanted."""
    failed: dict[str, list[Event]] = {}
    for event in timeline.events:
        failed.setdefault(event.process, []).append(event)
    return {
        process.key: work_lines(process, failed.get(process.key, ()), warnings=warnings) for process in run.processes
    }


def without_warnings(words: Mapping[str, Lines]) -> dict[str, Lines]:
    """What each process printed of its own work, from what it said with its warnings."""
    return {key: lines.where(_is_work, always=_is_bar) for key, lines in words.items()}


def _is_bar(part: FileExcerpt) -> bool:
    """Whether these are lines that were made of the start of another."""
    return bool(part.ready)


def own_words(run: Run, work: Mapping[str, Sequence[Line]]) -> dict[str, Lines]:
    """The lines of each process once: not those of a console where the process has files of its own."""
    whole = {process.key for process in run.processes if process.whole}
    return {key: Lines.given(lines).outside(run.consoles if key in whole else ()) for key, lines in work.items()}


def work_lines(process: Process, events: Sequence[Event], *, warnings: bool = False) -> Lines:
    """The end of a process's output without what tells of failures."""
    wanted = _is_said if warnings else _is_work
    covered = {(trace.path, trace.line + index) for trace in process.traces for index in trace.chain.consumed} | {
        (event.path, event.line) for event in events
    }
    openings = {(trace.path, trace.line) for trace in process.traces}
    found: list[FileExcerpt] = []
    for part in (*Lines.given(process.opening).parts, *Lines.given(process.tail).parts):
        at = array("I")
        for index in part.at:
            place = part.place(index)
            if place in openings:  # a progress bar may stand before the traceback, which does not end its line first
                line = part.line(index)
                before = _OPENING.sub("", line.text).strip()
                if before:
                    found += [part.some(at), *Lines.given([msgspec.structs.replace(line, text=before)]).parts]
                    at = array("I")
            elif place not in covered and part.shape(index).once(wanted):
                at.append(index)
        found.append(part.some(at))
    return Lines(found)


def _is_said(text: str) -> bool:
    return not _NO_LINE.search(text[:SEEN]) and not LAUNCHER.search(text[:SEEN])


def _is_work(text: str) -> bool:
    return not _NO_WORK.search(text[:SEEN]) and not LAUNCHER.search(text[:SEEN])


TORCHRUN = re.compile(
    r"^(?:torchrun\b|[WEI]\d{4} .{0,80}torch/)|torch/distributed/(?:elastic|run)"
    r"|^\s*(?:time|host|rank|exitcode|error_file|traceback) {2,}: |^\[\d{1,5}\]:\s*$"
)
"""Lines that torchrun prints on a rank's console, its table of failures too."""
LAUNCHER = re.compile(
    TORCHRUN.pattern + r"|^srun: (?:error: \S+: tasks? [\d,-]+: |[Tt]erminating |[Ff]orc|Job step aborted)"
)
"""Those, and srun's of how tasks ended: nobody's work, although they may carry a task's label."""
_OPENING = re.compile(r"(?:\[[\w-]+\]: ?)?Traceback \(most recent call last\):.*")
_NO_LINE = re.compile(
    r"\b(?:Watchdog|terminate called|what\(\)|NCCL|ProcessGroup)\b|\b\w+\.(?:cpp|cc|hpp|h|cu):\d+\]|^frame #\d+:"
    r"|\U0001f4a1 Tip: "
)
"""Lines that nobody's program prints of its work, not even as a warning; nor Lightning's advice."""
_NO_WORK = re.compile(
    r"\b(?:Error|Exception|WARN(?:ING)?|Watchdog|terminate called|what\(\)|NCCL|ProcessGroup)\b"
    r"|\b\w+\.(?:cpp|cc|hpp|h|cu):\d+\]|^frame #\d+:|^\[TC\]|\U0001f4a1 Tip: "
)
"""Lines that libraries print about failures, however long after the rank's last step."""
