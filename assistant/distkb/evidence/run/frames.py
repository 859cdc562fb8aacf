"""What the frames of tracebacks and stacks show: signatures of the user's frames, and the way down to an operation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from distkb.evidence.observation import Observation, Quote
from distkb.evidence.scanner.needs import Sought
from distkb.evidence.text.clean import quote_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from distkb.catalogue.model import Place, Signature
    from distkb.evidence.run.positions import Position
    from distkb.evidence.run.processes import Run, Trace
    from distkb.evidence.text.traceback import TracebackFrame

_UNIT = re.compile(r"fsdp/fully_sharded_data_parallel\.py$")
_FUNCTIONAL = re.compile(r"torch/(?:nn/functional|_ops|_tensor|overrides)\.py$")
_MODULE = re.compile(r"torch/nn/modules/(?!module\.py)\w+\.py$")
_ERROR = 400
"""Characters of an error that are looked at behind a frame."""
_TRACES = 20
"""Tracebacks of a process that are looked at."""


def frames(run: Run, places: Sequence[Position], signatures: Sequence[Signature]) -> list[Observation]:
    """Signatures of frames, matched on the user's frames of the first exception of each traceback, and of stacks."""
    wanted, raised = Frames("frame", signatures), Frames("raised", signatures)
    shown: list[tuple[str, Quote]] = []
    for process in run.processes:
        for trace in process.traces[:_TRACES]:
            shown += [(name, q) for name, qs in frame_hits(trace, wanted, process.rank).items() for q in qs]
            shown += [(name, quote) for name, quote in raised_hits(trace, raised, process.rank).items()]
            frame = trace.chain.first.user_frame
            if frame is not None and through_forwards(trace.chain.first.frames):
                shown.append(("run.module-called-in-unit", _quoted(frame, trace, process.rank)))
    return _together([*shown, *_place_hits(places, signatures)])


class Frames:
    """Signatures of frames, looked for in texts of one kind of place."""

    def __init__(self, place: Place, signatures: Sequence[Signature]) -> None:
        """Take those that may stand there."""
        self._wanted = [(signature.id, signature.pattern) for signature in signatures if place in signature.where]
        self._sought = Sought([pattern for _, pattern in self._wanted])

    def seen(self, text: str) -> list[str]:
        """Return the ids of those that stand in a text."""
        return [name for name, pattern in self._wanted if self._sought.finds(pattern, text)]


def _place_hits(places: Sequence[Position], signatures: Sequence[Signature]) -> Iterator[tuple[str, Quote]]:
    own, any_frame, asleep = Frames("frame", signatures), Frames("stack", signatures), Frames("asleep", signatures)
    seen: dict[str, tuple[str, ...]] = {}
    for place in places:
        if place.how == "stack":
            text = "\n".join(f'File "{f.path}", line {f.line}, in {f.function}  {f.source}' for f in place.frames)
            text += f"\n{place.place.op}("  # the call that the user's innermost frame makes
            yield from ((name, place.quote) for name in own.seen(text))
            if place.asleep:
                yield from ((name, place.quote) for name in asleep.seen(place.frames[-1].source))
        if place.went_on:
            yield "run.went-on-after-wait", place.quote
        if place.broke:
            continue
        calls = "\n".join(f"{f.path}, line {f.line}, in {f.function.rpartition('.')[2]}" for f in place.calls)
        if calls not in seen:  # most ranks stand in few places
            seen[calls] = tuple(any_frame.seen(calls))
        yield from ((name, place.quote) for name in seen[calls])


def _together(shown: Iterable[tuple[str, Quote]]) -> list[Observation]:
    found: dict[str, list[Quote]] = {}
    for name, quote in shown:
        found.setdefault(name, []).append(quote)
    return [
        Observation(id=name, source="log", quotes=tuple(quotes[:6]), count=len(quotes))
        for name, quotes in found.items()
    ]


def frame_hits(trace: Trace, wanted: Frames, rank: int | None) -> dict[str, tuple[Quote, ...]]:
    """Innermost user frame of a traceback that each signature matches."""
    found: dict[str, tuple[Quote, ...]] = {}
    for frame in trace.chain.first.frames:
        if not frame.user:
            continue
        found.update((name, (_quoted(frame, trace, rank),)) for name in wanted.seen(frame.text))
    return found


def raised_hits(trace: Trace, wanted: Frames, rank: int | None) -> dict[str, Quote]:
    """Frame in which an error was raised that each signature matches: the user's innermost one, or a library's below.

    A frame and its error stand on one line, so that a pattern can ask for both.
    """
    first = trace.chain.first
    error = f"{first.type}: {first.message}".partition("\n")[0][:_ERROR]
    own = first.user_frame
    found: dict[str, Quote] = {}
    for frame in (*filter(None, [own]), *first.below):
        names = wanted.seen(f"{frame.text} | {error}")
        found.update((name, _quoted(frame, trace, rank)) for name in names)
    return found


def through_forwards(frames: Sequence[TracebackFrame]) -> bool:
    """Whether an operation of a torch module was reached from an FSDP unit's forward by calls of modules alone.

    Every module on the way was called as FSDP wants it, so its hooks had gathered all that the unit owns.
    """
    paths = [frame.path.replace("\\", "/") for frame in frames]
    unit = next((n for n, path in enumerate(paths) if frames[n].function == "forward" and _UNIT.search(path)), None)
    if unit is None:
        return False
    inner = [n for n in range(unit + 1, len(frames)) if not _FUNCTIONAL.search(paths[n])]
    regular = all(frames[n].function == "forward" for n in inner if frames[n].user)
    return bool(inner) and regular and _MODULE.search(paths[inner[-1]]) is not None


def _quoted(frame: TracebackFrame, trace: Trace, rank: int | None) -> Quote:
    return Quote(text=quote_text(frame.text), path=trace.path, line=trace.line_of(frame.at), rank=rank)
