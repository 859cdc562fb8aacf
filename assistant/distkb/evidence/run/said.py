"""What a run said of its own settings, held against what it then did: time limits, and the checkpoint it resumed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from distkb.evidence.run.lines import Line, Lines
from distkb.evidence.run.steps import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from distkb.evidence.run.processes import Process
    from distkb.evidence.run.sayings import Talk
    from distkb.evidence.run.timeline import Event, Timeline, Times

_EARLY = 400
"""Lines at the start of what a rank said in which its first counters are looked for."""
APART = 2.0
"""A limit that ended a wait after less than this share of the limit that was printed is another one."""
_LIMIT = re.compile(
    r"(?i)time_?out\w{0,12}['\"]?(?:[ =:]{1,3}|[a-z ]{1,24}[=:] ?|(?: is| of| set to) )"
    r"(?:(?:datetime\.)?timedelta\((?P<unit>seconds|minutes|hours|days)=(?P<of>\d{1,7})\)"
    r"|(?P<hours>\d{1,3}):(?P<minutes>\d\d):(?P<seconds>\d\d)"
    r"|(?P<number>\d{1,9}(?:\.\d{1,3})?) ?(?P<short>ms|s|secs?|min|mins|m|h|seconds|minutes|hours?|milliseconds)?\b)"
)
_OTHER = re.compile(
    r"(?i)(?:http|request|download|load|worker|socket|connect|read|lock|kill|grace|store)\w{0,12}[ _-]?$"
)
"""What stands before the word where it is the timeout of something else than the communication."""
_SECONDS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "": 1.0}
_CHECKPOINT = re.compile(
    r"(?i)(?P<word>checkpoint|ckpt|snapshot|global_?step|step|epoch|iter)s?[-_=]?0{0,9}(?P<number>\d{1,9})\b"
)
_LONGEST = 400
_SAVES = re.compile(r"(?i)\b(?:sav(?:ed|ing)|wrote|writ(?:ing|ten))\b")
_RESUMES = re.compile(r"(?i)resum\w*|\b(?:restor(?:ed|ing)|continu(?:ed|ing))\b")


def limit_of(text: str) -> float | None:
    """Seconds of the time limit that a line states as a setting; None where it states none."""
    found = _LIMIT.search(text)
    if found is None or _OTHER.search(text[: found.start()]):
        return None
    if found["of"]:
        return float(found["of"]) * _SECONDS[found["unit"][0].lower()]
    if found["hours"]:
        return 3600.0 * int(found["hours"]) + 60.0 * int(found["minutes"]) + int(found["seconds"])
    short = (found["short"] or "").lower()
    return float(found["number"]) * (0.001 if short.startswith(("ms", "mil")) else _SECONDS[short[:1]])


def shorter_limit(work: Mapping[str, Sequence[Line]], timeline: Timeline) -> tuple[Line, Event] | None:
    """Return the line that states a time limit and the wait that ended long before it; None where none did."""
    waits = [event for event in timeline.events if event.kind == "echo" and not event.gone and event.delay]
    if not waits:
        return None
    fired = max(waits, key=lambda event: event.delay or 0.0)
    stating = (line for lines in work.values() for line in Lines.given(lines).where(_states_limit))
    said = [(limit, line) for line in stating if (limit := limit_of(line.text[:400]))]
    limit, line = max(said, key=lambda item: item[0], default=(0.0, None))
    return (line, fired) if line is not None and limit >= APART * (fired.delay or 0.0) else None


def _states_limit(text: str) -> bool:
    return limit_of(text[:400]) is not None


def resumed_behind(
    work: Mapping[str, Sequence[Line]], earlier: Callable[[], Mapping[str, Sequence[Line]]], times: Times
) -> tuple[Line, Line] | None:
    """Return the line of the newest checkpoint that was saved and that of an older one from which the run went on.

    What a file says is in order. Between files times decide, and only checkpoints of one folder are compared:
    `earlier` gives what was printed by runs before this one, where this one went on from a checkpoint.
    """
    own = [list(_checkpoints(lines)) for lines in work.values()]
    marks = [mark for said in own for mark in said]
    if not any(mark.resumes for mark in marks):
        return None
    for said in own:
        newest: dict[str, _Mark] = {}
        for mark in said:
            top = newest.get(mark.word)
            if not mark.resumes and (top is None or mark.number > top.number):
                newest[mark.word] = mark
            elif mark.resumes and top is not None and mark.number < top.number:
                return top.line, mark.line
    before = [mark for lines in earlier().values() for mark in _checkpoints(lines)]
    saved = [mark for mark in (*before, *marks) if not mark.resumes]
    for resumed in (mark for mark in marks if mark.resumes and "/" in mark.name):
        at = times.of(resumed.line.stamp)
        older = [
            mark
            for mark in saved
            if mark.name == resumed.name
            and mark.line.path != resumed.line.path
            and at is not None
            and (time := times.of(mark.line.stamp)) is not None
            and time < at
        ]
        top = max(older, key=lambda mark: mark.number, default=None)
        if top is not None and resumed.number < top.number:
            return top.line, resumed.line
    return None


def began_apart(spoken: Sequence[Talk]) -> tuple[tuple[Process, Line], ...]:
    """Return the lines with the first epochs of ranks that count them alike, but from different ones on."""
    if len(spoken) < 2:
        return ()
    shared = frozenset.intersection(*(talk.templates for talk in spoken))
    for template in dict.fromkeys(said for said in spoken[0].said[:_EARLY] if said in shared):
        begun = [one for talk in spoken if (one := _beginning(talk, template)) is not None]
        if len(begun) < len(spoken) or len({one.step for one in begun}) != 1 or begun[0].step < 1:
            continue
        first, last = (choose(begun, key=lambda one: one.epoch) for choose in (min, max))
        if first.epoch != last.epoch:
            return (first.process, first.line), (last.process, last.line)
    return ()


class _Beginning(NamedTuple):
    """The first line of one kind that a rank printed, its epoch, and how many epochs later the second one is."""

    process: Process
    line: Line
    epoch: int
    step: int


def _beginning(talk: Talk, template: str) -> _Beginning | None:
    found = [index for index, said in enumerate(talk.said[:_EARLY]) if said == template][:2]
    epochs = [count[0] for index in found for count, _, _ in counted(talk.lines[index : index + 1])]
    if len(epochs) < 2 or talk.lines[found[0]].number > _EARLY:
        return None
    return _Beginning(talk.process, talk.lines[found[0]], epochs[0], epochs[1] - epochs[0])


_FILE = re.compile(r"[\w.+-]{2,80}\.(?!\d|py\b)\w{2,11}\b")
_READS = re.compile(r"(?i)\b(?:read(?:s|ing)?|load(?:s|ed|ing)?|open(?:s|ed|ing)?|us(?:es|ed|ing)|found|mmap\w*|got)\b")
_MAKES = re.compile(
    r"(?i)\b(?:writ(?:es?|ing)|sav(?:es?|ing)|build(?:s|ing)?|creat(?:es?|ing)|generat(?:es?|ing)|dump(?:s|ing)?"
    r"|export(?:s|ing)?|prepar(?:es?|ing)|no|missing)\b"
)
_MADE = re.compile(r"(?i)\b(?:wrote|written|saved|dumped|built|created|generated|exported|ready|done)\b")


def read_before_written(work: Mapping[str, Sequence[Line]], timeline: Timeline) -> tuple[Line, Line] | None:
    """Return the line in which one rank read a file, and that in which another said later that it had made it.

    Only where the one that made it did not read it before: a checkpoint that is loaded and then saved anew is none.
    """
    named = {key: list(Lines.given(lines).where(_handles_file)) for key, lines in work.items()}
    made = [(key, *one) for key, lines in named.items() for one in _makings(lines, work[key])]
    if not made:
        return None
    read: dict[str, list[tuple[str, Line]]] = {}
    for key, lines in named.items():
        for line in lines:
            if _READS.search(line.text[:_LONGEST]):
                for name in _FILE.findall(line.text[:_LONGEST]):
                    read.setdefault(name, []).append((key, line))
    for maker, name, begun, done in made:
        low, high = (None if line is None else timeline.times.of(line.stamp) for line in (begun, done))
        for reader, line in read.get(name, ()):
            at = timeline.times.of(line.stamp) if reader != maker else None
            if at is not None and high is not None and at < high and (low is None or at >= low):
                return line, done
    return None


def _makings(named: Sequence[Line], every: Sequence[Line]) -> Iterator[tuple[str, Line | None, Line]]:
    """The files that a rank made: their names, where it began, if it said so, and where it was done."""
    seen: dict[str, Line | None] = {}
    for line in named:
        text = line.text[:_LONGEST]
        for name in _FILE.findall(text):
            if _MADE.search(text) and (name not in seen or seen[name] is not None):
                yield name, seen.get(name), line
            elif name not in seen:
                seen[name] = line if _MAKES.search(text) else None
    begun_ones = {name: begun for name, begun in seen.items() if begun is not None}
    later = list(Lines.given(every).where(_says_made)) if begun_ones else []
    for name, begun in begun_ones.items():
        done = next((line for line in later if line.path == begun.path and line.number > begun.number), None)
        if done is not None:
            yield name, begun, done


def _handles_file(text: str) -> bool:
    text = text[:_LONGEST]
    return any(word.search(text) for word in (_READS, _MAKES, _MADE)) and _FILE.search(text) is not None


def _says_made(text: str) -> bool:
    return _MADE.search(text[:_LONGEST]) is not None


def _names_checkpoint(text: str) -> bool:
    text = text[:400]
    return (_RESUMES.search(text) or _SAVES.search(text)) is not None and _CHECKPOINT.search(text) is not None


class _Mark(NamedTuple):
    """A line that tells of a checkpoint."""

    word: str
    """What its number counts."""
    name: str
    """What stands before the number, from the last blank on: the folder and the beginning of the file's name."""
    number: int
    line: Line
    resumes: bool
    """Whether the run goes on from it; else it was saved."""


def _checkpoints(lines: Sequence[Line]) -> Iterator[_Mark]:
    """The checkpoints that lines name."""
    for line in Lines.given(lines).where(_names_checkpoint):
        text = line.text[:400]
        resumes = _RESUMES.search(text) is not None
        if resumes or _SAVES.search(text):
            for found in _CHECKPOINT.finditer(text):
                name = text[: found.start("number")].rpartition(" ")[2].strip("'\"`([").rstrip("0")
                yield _Mark(found["word"].lower(), name, int(found["number"]), line, resumes)
