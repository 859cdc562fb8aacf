"""How far a rank came: the last step, batch or iteration that it printed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from distkb.evidence.run.lines import FileExcerpt, Line, Lines
from distkb.evidence.run.sayings import blanked
from distkb.evidence.text.shapes import ShapePart, piece

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """The last counter of one wording."""

    wording: str
    """What the counter is called, so that only like is compared with like."""
    epoch: int | None
    step: int
    total: int | None
    index: int
    """Position of its line among those given."""


_NUMBER = (
    r"[ \t]*[:=#]?[ \t]*\[?(?P<step>\d{1,10})(?!\d|\.\d|[ \t]*(?:per|each|x)\b)"
    r"(?:[ \t]*(?:/|of)[ \t]*(?P<total>\d{1,10}))?"
)
_COUNTERS = (
    re.compile(
        r"(?i)\b(?P<word>global[_ ]?step|step|steps|iteration|iter|it|batch|batch_idx|minibatch|update|sample)s?\b"
        + _NUMBER
    ),
    re.compile(r"(?P<word>\[)(?P<step>\d{1,10})/(?P<total>\d{1,10})\]"),
    re.compile(r"(?P<word>\|) *(?P<step>\d{1,10})/(?P<total>\d{1,10}) *\["),
)
_DESCRIBED = re.compile(r"\s*([A-Za-z][A-Za-z _-]{0,40}):")
_EPOCH = re.compile(r"(?i)\bepoch\b[ \t]*[:=#]?[ \t]*\[?(\d{1,6})")
_EPOCH_ONLY = re.compile(r"(?i)(?P<word>epoch)\b" + _NUMBER)
_WORDS = {"iter": "iteration", "it": "iteration", "batch_idx": "batch", "minibatch": "batch", "steps": "step"}
_FINISHED = re.compile(
    r"(?i)\b(?:training|train|epochs?|loop|steps|batches|data(?:set|loader)?|inputs?|rank \d+|worker|run|job|all)\b"
    r".{0,40}\b(?:done|finished|completed?|over|ended|exhausted|ran out)\b"
    r"|\b(?:done|finished|completed?|good ?bye|bye)(?: (?:in|after) [\d:.]{1,12} ?[a-z]{0,8})?\W*$"
    r"|\b(?:end of (?:training|epoch|data)|exiting|exited (?:normally|cleanly))\b"
    r"|\bTrainer\.fit. stopped: .max_|\bdestroy(?:ed|ing)? (?:the )?process group\b"
    r"|\b(?:no more (?:data|batches)|ran out of (?:data|batches|inputs)|shutting down|shut down)\b"
    r"|(?:학습|훈련|에폭|에포크|전체|모두|작업).{0,20}(?:완료|끝났|끝남|마쳤|종료)|(?:완료|종료)\W*$"
)
_EXITED_WELL = re.compile(r"(?i)\b(?:exit(?:ed|s)?|return(?:ed|s)?|rc|status|code)\b[\w ]{0,20}[ =:]{1,3}(?:0:)?0\W*$")
_UNFINISHED = re.compile(
    r"(?i)\b(?:not|never|un)\s*(?:done|finished|complete)|\d{1,3}\s{0,2}% ?(?:done|complete)|\bincomplete"
)


class _Counter(NamedTuple):
    """A counter in lines of one shape."""

    name: str
    step: ShapePart
    total: ShapePart | None


def last_progress(lines: Iterable[str] | Lines, *, bare: bool = False) -> dict[str, Progress]:
    """The last counter of each wording in some lines of one rank, oldest line first.

    With `bare`, times and the number of the rank are no counters.
    """
    if not isinstance(lines, Lines):
        lines = Lines.given([Line(text, "", 0, None) for text in lines])
    last: dict[str, tuple[int, FileExcerpt, int, _Counter, tuple[FileExcerpt, int, ShapePart] | None]] = {}
    epoch: tuple[FileExcerpt, int, ShapePart] | None = None
    index = 0
    for part in lines.parts:
        for at in part.at:
            told = part.shape(at).once(_counted_bare if bare else _counted)
            if told is not None:
                epoch = (part, at, told[0]) if told[0] is not None else epoch
                if told[1] is not None:
                    last[told[1].name] = (index, part, at, told[1], epoch if told[1].name != "epoch" else None)
            index += 1
    return {name: _progress(*found) for name, found in last.items()}


def counted(lines: Lines) -> Iterator[tuple[tuple[int, int], FileExcerpt, int]]:
    """Yield the epoch and the step that each line says by itself, and where it is kept; others are left out."""
    for part in lines.parts:
        for at in part.at:
            told = part.shape(at).once(_counted)
            if told is not None and told[1] is not None:
                found = _progress(0, part, at, told[1], None if told[0] is None else (part, at, told[0]))
                yield (found.step, 0) if found.wording == "epoch" else (found.epoch or 0, found.step), part, at


def wording(part: FileExcerpt, at: int) -> str:
    """Return what the counter of a line is called; empty where it has none."""
    told = part.shape(at).once(_counted)
    return told[1].name if told is not None and told[1] is not None else ""


def _counted(text: str) -> tuple[ShapePart | None, _Counter | None] | None:
    """Where lines of a shape say the epoch, and where the step; None where neither."""
    return _counters_in(text, text)


def _counted_bare(text: str) -> tuple[ShapePart | None, _Counter | None] | None:
    return _counters_in(blanked(text), text)


def _counters_in(text: str, line: str) -> tuple[ShapePart | None, _Counter | None] | None:
    """Look at a text; what is found stands at the same place of a line."""
    if not any(character.isdecimal() for character in text):
        return None
    text = text[:600]
    found_epoch = _EPOCH.search(text)
    epoch = piece(line, *found_epoch.span(1)) if found_epoch else None
    for kind, pattern in enumerate(_COUNTERS):
        if (found := pattern.search(text)) is not None:
            word = found["word"].lower().replace(" ", "_")
            word = _WORDS.get(word, word)
            return epoch, _counter(word + (_name(text, found.start()) if kind else ""), found, line)
    found = _EPOCH_ONLY.search(text)
    return (epoch, _counter("epoch", found, line)) if found else (epoch, None) if epoch else None


def _counter(name: str, found: re.Match[str], line: str) -> _Counter:
    total = piece(line, *found.span("total")) if found["total"] else None
    return _Counter(name, piece(line, *found.span("step")), total)


def _name(line: str, end: int) -> str:
    """What stands before a bare counter, without the numbers and the bar that change from line to line."""
    described = _DESCRIBED.match(line)
    return (described[1] if described else re.sub(r"[^A-Za-z]+", "#", line[max(0, end - 12) : end])).strip()


def _progress(
    index: int, part: FileExcerpt, at: int, counter: _Counter, epoch: tuple[FileExcerpt, int, ShapePart] | None
) -> Progress:
    digits = part.digits(at)
    return Progress(
        wording=counter.name,
        epoch=int(epoch[2].fill(epoch[0].digits(epoch[1]))) if epoch is not None else None,
        step=int(counter.step.fill(digits)),
        total=int(counter.total.fill(digits)) if counter.total is not None else None,
        index=index,
    )


_COUNT = re.compile(r"(?<![\d/.:-])(\d{1,9}) ?(?:/|of) ?(\d{1,9})(?![\d/.:-])")
_TRAINING = re.compile(r"(?i)\b(?:step|iter|epoch|batch|update|rank|worker|gpu|node_rank|loss|lr)")


def counts_on(line: str) -> bool:
    """Whether a line counts through something other than training steps and has not come to its end."""
    found = _COUNT.search(line)
    return found is not None and int(found[1]) < int(found[2]) > 2 and _TRAINING.search(line) is None


def reaches_its_end(lines: Lines) -> bool:
    """Whether the last counter with a total came to it, or as near as it prints at all."""
    counters = [p for p in last_progress(lines).values() if p.total]
    if not counters:
        return False
    for last in counters:
        before = last_progress(lines[: last.index]).get(last.wording)
        stride = last.step - before.step if before is not None and last.step - before.step > 0 else 1
        if last.total is not None and last.step + stride < last.total:
            return False
    return True


def counted_out(line: str, alike: int) -> bool:
    """Whether a line, of which there are so many alike, was printed once for each of a number of turns, and all."""
    return any(int(found[1]) == int(found[2]) == alike > 1 for found in _COUNT.finditer(line))


def exited_well(line: str) -> bool:
    """Whether a line says that a process or a job ended with the exit code 0."""
    return _EXITED_WELL.search(line) is not None


def says_finished(line: str) -> bool:
    """Whether a line says that its writer has come to an end, be it of an epoch."""
    return _FINISHED.search(line) is not None and _UNFINISHED.search(line) is None


def ends_run(line: str) -> bool:
    """Whether a line says that its writer has come to the end of the run, and not only of one epoch of it."""
    return says_finished(line) and _EPOCH.search(line) is None
