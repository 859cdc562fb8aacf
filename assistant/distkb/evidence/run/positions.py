"""Where each rank stood: from tracebacks, from a Ctrl-C's and from stack dumps alike, as one kind of value."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal

import msgspec

from distkb.evidence.observation import Quote
from distkb.evidence.readers.stacks import known
from distkb.evidence.readers.stacks.model import Frame, Thread
from distkb.evidence.readers.stacks.place import StackPosition, place_of, representative, role_of
from distkb.evidence.text.clean import quote_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from distkb.evidence.readers.stacks.group import Standing
    from distkb.evidence.run.processes import Process, Run, Trace
    from distkb.evidence.run.timeline import Event, Timeline

Stage = Literal[
    "barrier", "own-call", "group", "wrap", "forward", "backward", "optimizer", "save", "data", "init", "finished",
    "work", "unknown",
]  # fmt: skip
"""What a rank was doing there: `own-call` is a collective that the user's code calls, `group` makes a process group,
`wrap` gives the model to DDP or FSDP, `forward` to `optimizer` are the training step with the collectives that the
library makes in it, `work` is Python that waits for no other rank."""

STEP: frozenset[Stage] = frozenset({"forward", "backward", "optimizer"})
CALLS: frozenset[Stage] = frozenset({"barrier", "own-call", "group", "wrap"})
WAITS: frozenset[Stage] = STEP | CALLS | {"save", "init"}
"""Stages in which a rank may stand because it waits for others."""


class Position(msgspec.Struct, frozen=True, kw_only=True):
    """One rank's place in the code."""

    rank: int | None
    who: str
    """What tells this process from others: `rank 3`, `pid 4242`."""
    how: Literal["traceback", "interrupt", "stack"]
    stage: Stage
    place: StackPosition
    frames: tuple[Frame, ...]
    """The user's frames, outermost first."""
    calls: tuple[Frame, ...] = ()
    """All frames, the libraries' too, outermost first."""
    waits: bool
    """Whether it stood there for others: it timed out, lost a peer or was dumped in a collective."""
    inference: bool = False
    """Whether a function around it computes without gradients, so that this is no step of the training."""
    died: bool = False
    """Whether it ended there of an error that no peer's end explains: the others may have come further since."""
    broke: bool = False
    """Whether the communication library itself failed there: a call that fails for any reason is no wait in it."""
    asleep: bool = False
    """Whether its thread slept in the user's own frame, in a call that is no Python, as a full pipe makes it."""
    beside: Frame | None = None
    """Where another thread of the user's slept in the user's own frame, while this one did."""
    went_on: bool = False
    """Whether it waited there and gave up in another wait: its own code went on when the first had failed."""
    quote: Quote

    @property
    def generates(self) -> bool:
        """Whether it stands in a function that generates text, images or rollouts."""
        return any(_GENERATES.search(f.function[-_NAME:]) for f in self.frames)

    @property
    def line(self) -> tuple[str, int]:
        """File and line of the innermost of the user's frames: what names its functions does it in different ways."""
        return _base(self.frames[-1].path), self.frames[-1].line

    @property
    def spot(self) -> tuple[tuple[str, str, int], ...]:
        """What two ranks at the same place have in common. Nodes may keep the code in other folders."""
        return (*((_base(f.path), f.function, f.line) for f in self.frames), ("", self.place.op, 0))


def positions(
    run: Run, timeline: Timeline, standing: Iterable[Standing], world: int | None = None
) -> tuple[Position, ...]:
    """Return one position for each rank that left any; a traceback of its own end counts before a dump of others.

    Where a rank was dumped in one wait and gave up in another, the one in which it was dumped came first.
    `world` is the number of ranks, where it is known.
    """
    events = {id(event.trace): event for event in timeline.events if event.trace is not None}
    found: dict[str, Position] = {}
    for process in run.processes:
        for trace in process.traces:
            event = events.get(id(trace))
            one = _of_trace(process, trace, event)
            if one is not None:
                found.setdefault(one.who, one)
                break
    standing = tuple(standing)
    ranks = _ranks_of_pids(run, timeline) or _in_order(standing, world)
    aborted = [failure.rank for failure in timeline.failures if failure.signal in _FATAL]
    for dumped in standing:
        alone = dumped.dump.fatal and len(aborted) == 1 and sum(one.dump.fatal for one in standing) == 1
        position = _of_standing(dumped, ranks, aborted[0] if alone else None)
        if position is not None:
            old = found.get(position.who)
            if old is None or old.how == "interrupt":
                found[position.who] = position
            elif old.waits and not old.died and position.waits and old.line != position.line:
                # Its wait failed, its own code caught that and came to another wait, which failed in the end.
                found[position.who] = msgspec.structs.replace(position, went_on=True)
    return tuple(by_rank(found.values()))


_FATAL = frozenset({"SIGABRT", "SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL"})
"""Signals at which faulthandler writes the stacks of the process that dies of them."""


def by_rank(found: Iterable[Position]) -> list[Position]:
    """Return positions in the order of ranks, those without one last."""
    return sorted(found, key=lambda p: (p.rank is None, p.rank or 0, p.who))


PID = re.compile(r"(?i)\bpid['\"]?[ =:#]{1,3}(\d{2,8})\b")


def _ranks_of_pids(run: Run, timeline: Timeline) -> Mapping[int, int]:
    """Pid → rank, as the launcher's table of failures gives them, and the ranks' own lines."""
    said: dict[int, set[int]] = {}
    for process in run.ranked:
        for line in (*process.opening.where(_says_pid), *process.tail.where(_says_pid)):
            found = PID.search(line.text)
            if found is not None and process.rank is not None:
                said.setdefault(int(found[1]), set()).add(process.rank)
    own = {pid: next(iter(ranks)) for pid, ranks in said.items() if len(ranks) == 1}
    return {**own, **{failure.pid: failure.rank for failure in timeline.failures if failure.pid is not None}}


def _says_pid(text: str) -> bool:
    return PID.search(text[:400]) is not None


def _in_order(standing: Sequence[Standing], world: int | None) -> Mapping[int, int]:
    """Pid → rank where as many processes were dumped as there are ranks: a launcher starts them in order."""
    pids = sorted({one.dump.pid for one in standing if one.dump.pid is not None})
    folders = {PurePath(one.dump.path).parent for one in standing}  # each node may have one of its own
    sure = len(pids) == world and len(folders) == 1 and all(one.dump.rank is None for one in standing)
    return {pid: rank for rank, pid in enumerate(pids)} if sure else {}


def _of_trace(process: Process, trace: Trace, event: Event | None) -> Position | None:
    raised = trace.chain.first
    interrupted = raised.type.rpartition(".")[2] in {"KeyboardInterrupt", "SignalException", "SystemExit"}
    if event is None and not interrupted:
        return None
    frames = tuple(Frame(f.function, f.path, f.line, f.source) for f in reversed(raised.frames))
    if interrupted and role_of(frames) == "launcher":
        return None
    below = known.below_signal(frames)
    if below != frames:  # what a handler does is not what the rank did: it stood where the signal met it
        frames, event, interrupted = below, None, True
    place = place_of(Thread(frames=frames))
    mine = tuple(f for f in reversed(frames) if not known.is_library(f.path) and _is_users(f))
    if not mine:
        return None
    last = next((f for f in reversed(raised.frames) if f.user), raised.frames[-1])
    waited = event is not None and (event.kind == "echo" or _in_collective(frames))
    quote = Quote(text=quote_text(last.text), path=trace.path, line=trace.line_of(last.at), rank=process.rank)
    return Position(
        rank=process.rank,
        who=process.key,
        how="interrupt" if interrupted else "traceback",
        stage=stage(frames, place),
        place=place,
        frames=mine,
        calls=frames[::-1],
        waits=waited or (interrupted and stage(frames, place) in WAITS),
        inference=_is_inference(frames),
        died=event is not None and event.kind != "echo",
        broke=event is not None and event.kind != "echo" and raised.type.rpartition(".")[2].startswith("Dist"),
        quote=quote,
    )


def _is_users(frame: Frame) -> bool:
    return not frame.path.startswith("<")


def _of_standing(one: Standing, ranks: Mapping[int, int], aborted: int | None) -> Position | None:
    """`aborted` is the rank of which the launcher says that it died so, where this dump can only be its own."""
    dump = one.dump
    rank = dump.rank if dump.rank is not None else ranks.get(dump.pid or -1, aborted)
    threads = dump.snapshots[-1] if dump.snapshots else ()
    thread = representative(threads)
    if thread is None or dump.stopped:
        return None
    mine = tuple(f for f in reversed(thread.frames) if not known.is_library(f.path) and _is_users(f))
    if not mine:
        return None
    asleep = _sleeps(thread)
    where = stage(thread.frames, one.place, asleep=asleep)
    inner = mine[-1]
    others = (other for other in threads if other is not thread and asleep and _sleeps(other))
    text = f'File "{inner.path}", line {inner.line}, in {inner.function}  {inner.source}'.rstrip()
    return Position(
        rank=rank,
        who=f"rank {rank}" if rank is not None else f"pid {dump.pid or dump.path}",
        how="stack",
        stage=where,
        place=one.place,
        frames=mine,
        calls=thread.frames[::-1],
        waits=where in WAITS and not one.moved,
        inference=_is_inference(thread.frames),
        died=dump.fatal,
        asleep=asleep,
        beside=next((other.frames[0] for other in others), None),
        quote=Quote(text=quote_text(text), path=dump.path, line=dump.line, rank=rank),
    )


def _sleeps(thread: Thread) -> bool:
    """Whether a thread sleeps in the user's own frame: in a call that is no Python, of which no library made it."""
    inner = thread.frames[0] if thread.frames else None
    return inner is not None and thread.active is False and _is_users(inner) and not known.is_library(inner.path)


def _is_inference(frames: Sequence[Frame]) -> bool:
    """Whether a function of the user's is decorated with no_grad or inference_mode; the innermost frame comes first."""
    mine = next((i for i, frame in enumerate(frames) if not known.is_library(frame.path)), len(frames))
    return any(frame.path.replace("\\", "/").endswith("torch/utils/_contextlib.py") for frame in frames[mine:])


def _in_collective(frames: Sequence[Frame]) -> bool:
    return any(known.is_collective_file(frame.path) for frame in frames[:6])


_NAME = 200
"""Characters of a function's name that are looked at."""
_GENERATES = re.compile(
    r"(?i)(?:^|[._])(?:generate|sample|sampling|rollout|decode|beam_search|greedy|make_experience)\w*$"
)
_SAVES = re.compile(r"torch/distributed/checkpoint/|_state_dict_utils|/state_dict|full_tensor")
_MODEL = re.compile(
    r"torch/nn/|torch/distributed/(?:fsdp|_composable|tensor|_tensor|pipelining)/|deepspeed/runtime/zero/"
)
_WRAPS = re.compile(r"torch/(?:nn/parallel|distributed/fsdp)/.{0,80}:(?:\w{1,80}\.)?__init__$")
_GROUPS = frozenset({"new_group", "new_subgroups", "split_group", "new_subgroups_by_enumeration"})


def stage(frames: Sequence[Frame], place: StackPosition, *, asleep: bool = False) -> Stage:
    """Return what a rank was doing, by the innermost frames up to the user's own; `frames` has the innermost first.

    `asleep`: it slept in the user's own frame.
    """
    if place.kind == "barrier":
        return "barrier"
    if place.kind == "collective":
        return _collective_stage(frames, place)
    if place.kind == "save" and (asleep or _writes(frames[0])):
        return "work"
    return _STAGES.get(place.kind, "unknown")


def _writes(inner: Frame) -> bool:
    """Whether the innermost frame of a save shows that the rank waits for no other: it writes, or does what it says."""
    if known.is_library(inner.path):
        return _SAVES.search(inner.path.replace("\\", "/")) is None
    return bool(inner.source)


def _collective_stage(frames: Sequence[Frame], place: StackPosition) -> Stage:
    if place.within == "backward" or place.op in _GROUPS:
        return "backward" if place.within == "backward" else "group"
    between: list[str] = []
    for frame in frames:
        if not known.is_library(frame.path):
            break
        between.append(frame.path.replace("\\", "/"))
        if _WRAPS.search(f"{between[-1]}:{frame.function}"):
            return "wrap"
    if any(_SAVES.search(path) for path in between):
        return "save"
    if any("torch/optim/" in path or path.endswith("clip_grad.py") for path in between):
        return "optimizer"
    return "forward" if any(_MODEL.search(path) for path in between) else "own-call"


_STAGES: dict[str, Stage] = {
    "barrier": "barrier",
    "backward": "backward",
    "forward": "forward",
    "optimizer": "optimizer",
    "cuda-sync": "forward",
    "dataloader": "data",
    "save": "save",
    "init": "init",
    "finished": "finished",
    "eval": "work",
    "log": "work",
    "compile": "work",
    "build": "work",
    "lock": "work",
    "thread": "work",
    "import": "work",
    "io": "work",
    "debugger": "work",
    "user": "work",
}


def _base(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]
