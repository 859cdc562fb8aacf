"""Where a process stands: the thread that matters, the user's own frames, and what kind of place it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from distkb.evidence.readers.stacks import known
from distkb.evidence.readers.stacks.known import Kind
from distkb.evidence.readers.stacks.model import Dump, Frame, Role, Thread

_SHOWN = 6


class StackPosition(msgspec.Struct, frozen=True, kw_only=True):
    """Where one thread stands. Two ranks with equal places are in the same group."""

    kind: Kind
    op: str
    """The collective, or the innermost function of the user's."""
    within: Kind | None = None
    """What the user's functions around it are about: save, eval, log; or backward around a collective."""
    frames: tuple[Frame, ...] = ()
    """The user's frames, innermost first; a library's where the user has none."""

    @property
    def at(self) -> Frame | None:
        """The user's innermost frame."""
        return self.frames[0] if self.frames else None


def role(dump: Dump) -> Role:
    """Tell a rank from the launcher above it and from workers below it, by their frames and commands."""
    return role_of(frame for snapshot in dump.snapshots for thread in snapshot for frame in thread.frames)


def role_of(frames: Iterable[Frame]) -> Role:
    """Tell whose frames they are: a rank's, its launcher's or a worker's."""
    calls = {(frame.path.replace("\\", "/"), _bare(frame)) for frame in frames}
    for found, path, functions in known.ROLES:
        if any(called.endswith(path) and function in functions for called, function in calls):
            return found
    return "rank"


def representative(threads: Sequence[Thread]) -> Thread | None:
    """Return the thread that holds the user's code: the main thread, or another where that one only waits for it.

    Autograd runs Python hooks in threads of its own: a collective there is where a rank in `backward` really stands.
    """
    with_frames = [thread for thread in threads if thread.frames]
    if not with_frames:
        return None
    main = next((thread for thread in with_frames if thread.main), None) or next(
        (thread for thread in with_frames if _outermost(thread) == "<module>"), None
    )
    if main is None:
        main = max(
            with_frames, key=lambda thread: (_collective(thread.frames) is not None, _users(thread), -len(thread.name))
        )
    if _collective(main.frames) is None and _kind(main.frames) in ("backward", "unknown"):
        for thread in with_frames:
            if thread is not main and _outermost(thread) != "_bootstrap" and _collective(thread.frames) is not None:
                return msgspec.structs.replace(main, frames=(*thread.frames, *main.frames))
    return main


def collective_beside(threads: Sequence[Thread]) -> tuple[str, Frame] | None:
    """Return the collective that a thread of the user's makes beside the one that trains, and where it calls it."""
    main = representative(threads)
    for thread in threads:
        if main is None or not thread.frames or thread.frames[-1] == main.frames[-1] or thread.main:
            continue
        op = _collective(thread.frames) if _outermost(thread) == "_bootstrap" else None
        mine = next((frame for frame in thread.frames if not known.is_library(frame.path)), None)
        if op is not None and mine is not None:
            return op, mine
    return None


def place_of(thread: Thread | None) -> StackPosition:
    """Say where a thread stands."""
    if thread is None:
        return StackPosition(kind="finished", op="")
    frames = thread.frames
    mine = _own(frames)
    op = _collective(frames)
    within = _activity(mine)
    if op is not None:
        kind: Kind = "barrier" if op in known.BARRIERS else "collective"
        around = within or ("backward" if any(_matches("backward", frame) for frame in frames) else None)
        return StackPosition(kind=kind, op=op, within=around, frames=mine)
    kind = _kind(frames)
    # A `forward` deep in the stack says less than what the user's function is about, and its name less than its line.
    if kind in ("user", "unknown", "forward"):
        kind = _by_source(frames) or (kind if kind == "unknown" else within) or kind
    if kind == "collective":
        return StackPosition(kind=kind, op="wait", within=within, frames=mine)
    if kind in ("backward", "cuda-sync"):
        op = "backward" if kind == "backward" else _waited(frames)
    elif kind == "thread":
        op = _own_thread(frames)
    return StackPosition(kind=kind, op=op or (mine[0].function if mine else ""), within=within, frames=mine)


def progress(thread: Thread | None) -> tuple[tuple[str, str, int], ...]:
    """Return what differs between two snapshots of a thread that goes on.

    Polling loops of Python and of the data loader change lines while the program waits, so those are left out.
    """
    if thread is None:
        return ()
    return tuple(
        (frame.path, frame.function, frame.line)
        for frame in thread.frames
        if not known.is_python(frame.path) and "torch/utils/data/" not in frame.path
    )


def _outermost(thread: Thread) -> str:
    return _bare(thread.frames[-1]) if thread.frames else ""


def _users(thread: Thread) -> int:
    return sum(1 for frame in thread.frames if not known.is_library(frame.path))


def _own(frames: Iterable[Frame]) -> tuple[Frame, ...]:
    """Return the user's frames; where there are none, the innermost of packages other than torch and Python."""
    frames = tuple(frames)
    mine = tuple(frame for frame in frames if not known.is_library(frame.path))
    if not mine:
        mine = tuple(frame for frame in frames if not known.is_python(frame.path) and "torch/" not in frame.path)
    return (mine or frames)[:_SHOWN]


def _collective(frames: Sequence[Frame]) -> str | None:
    """Return the collective that the user called: the outermost of those that call one another."""
    op: str | None = None
    # Python that torch calls from here would be further in: only the innermost frame can be in C++.
    if frames and known.IN_C.search(frames[0].path.replace("\\", "/")):
        return known.IN_C_CALLS.get(_bare(frames[0]))
    for frame in frames:
        if known.is_collective_file(frame.path):
            if known.COLLECTIVES.match(frame.function) or frame.function in known.BARRIERS:
                op = frame.function
            elif frame.function in ("init_process_group", "destroy_process_group"):
                return None
            elif frame.path.endswith("_functional_collectives.py") and frame.function in (
                "wait_tensor",
                "all_gather_tensor",
            ):
                op = op or frame.function
        elif op is not None and not frame.path.endswith("c10d_logger.py"):
            return op
    return op


def _kind(frames: Sequence[Frame]) -> Kind:
    """Return the place that the innermost telling frame names; outside the user's frames only some places count."""
    inside = True
    found: Kind | None = None
    for frame in frames:
        kind = _rule(frame)
        inside = inside and known.is_library(frame.path)
        if found is None and kind is not None and (inside or kind in known.AROUND):
            fetches = kind == "dataloader" and not inside and known.FETCHES.search(frame.path.replace("\\", "/"))
            found = "user" if fetches else kind
        if found == "thread" and inside and kind is not None and kind != "thread":
            return kind  # a library's thread
        if kind == "dataloader" and found == "io":
            return kind
    if found is not None:
        return found
    return "user" if frames and not inside else "unknown"


def _rule(frame: Frame) -> Kind | None:
    path = frame.path.replace("\\", "/")
    for kind, place, function in known.RULES:
        if place.search(path) and (function is None or function.search(_bare(frame))):
            return kind
    return None


def _matches(kind: Kind, frame: Frame) -> bool:
    return any(
        name == kind and path.search(frame.path) and (function is None or function.search(_bare(frame)))
        for name, path, function in known.RULES
    )


def _bare(frame: Frame) -> str:
    """Return a function's name without its class and the functions around it."""
    return frame.function.rpartition(".")[2]


def _activity(mine: Sequence[Frame]) -> Kind | None:
    """Return what the user's functions say that they do, the innermost first."""
    for frame in mine:
        name = _bare(frame)
        if known.is_library(frame.path) or name == "<module>":
            continue
        if known.SAVES.search(name):
            return "save"
        if known.EVALUATES.search(name):
            return "eval"
        if known.LOGS.search(name):
            return "log"
        if known.READS.search(name):
            return "io"
    return None


def _waited(frames: Sequence[Frame]) -> str | None:
    """Return the function that waits for the GPU, where it has a frame."""
    return next((frame.function for frame in frames if _matches("cuda-sync", frame)), None)


def _own_thread(frames: Sequence[Frame]) -> str | None:
    """Return the method with which the rank waits for a thread of its own, with its class."""
    for frame in frames:
        if _rule(frame) == "thread":
            file = frame.path.replace("\\", "/").rpartition("/")[2]
            return f"{known.OWN_THREAD[file]}.{_bare(frame)}"
    return None


def _by_source(frames: Sequence[Frame]) -> Kind | None:
    """Return the place that the line of code tells, where the dump or a script has it: calls into C leave no frame."""
    source = frames[0].source if frames else ""
    return next((kind for kind, pattern in known.BY_SOURCE if source and pattern.search(source)), None)
