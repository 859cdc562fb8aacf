"""Where the ranks went different ways: groups of ranks by place, and how the places lie to each other in the code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import msgspec

from distkb.evidence.readers.stacks.known import side_of_pair
from distkb.evidence.run.positions import CALLS, STEP, Position, by_rank

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from distkb.evidence.readers.stacks.model import Frame

Way = Literal[
    "same-place", "behind-step", "before-step", "beside-step", "calls-side-by-side", "calls-swapped", "calls-apart",
    "all-send", "all-receive", "all-in-pairs", "model-paths", "one-works", "save-apart", "rest-in-step",
    "rest-in-call", "all-in-init", "all-in-loader",
    "one-in-loader", "generation-apart", "making-groups",
    "inference-apart", "lock-around-call", "evaluation-apart", "own-thread",
]  # fmt: skip
"""How two groups of ranks lie to each other:

- `same-place`: everyone in one statement.
- `behind-step`: one group in a training step, the other at a later line of the function that makes the steps.
- `before-step`: the other at an earlier line of it. `beside-step`: in a call that cannot be compared by lines.
- `calls-side-by-side`: in a barrier and another call of one function of the user's. `calls-swapped`: in two calls of it
  of which none is a barrier, or in two functions that one statement calls. `calls-apart`: in calls of two functions.
- `all-send`, `all-receive`: everyone waits until another rank takes what it sends, or sends it something;
  `all-in-pairs`: some for the one, some for the other.
- `model-paths`: both in the model's forward or backward, at different lines of it.
- `one-works`: one group waits, the other does something that waits for nobody.
- `own-thread`: one group waits for the others, which wait for a thread of their own.
- `save-apart`: one group collects the model's state, the other waits elsewhere.
- `rest-in-step`, `rest-in-call`: the ranks that left a place all wait in one, and of the others nobody knows where.
- `one-in-loader`: one group waits for a batch. `generation-apart`: one group is in the loop that generates.
- `inference-apart`: one group is in a forward without gradients, the other elsewhere.
- `lock-around-call`: one group waits for a lock, the other in a call at a later line of the function that takes it.
- `evaluation-apart`: one group is in the evaluation of the trainer, the other in its training.
- `making-groups`: one group, or everyone, still makes a process group that not all of them make.
- `all-in-init`: everyone still sets up the process group. `all-in-loader`: everyone waits for a batch.
"""


_EVALUATION = re.compile(r"(?i)evaluation_?loop|\bprediction_?loop|\bTrainer\.evaluate$|trainer\.py evaluate$")
"""Of path and function of a frame: Lightning 2.6, transformers 5.23."""


class Parting(msgspec.Struct, frozen=True, kw_only=True):
    """Two groups of ranks and how their places lie to each other; with more groups the two that tell most."""

    way: Way
    main: tuple[Position, ...]
    """The ranks that wait for the others; in a training step where one of the groups is."""
    odd: tuple[Position, ...]
    """The others; empty where everyone is in one place."""
    function: str = ""
    """The innermost function that both groups are in."""

    @property
    def first_alone(self) -> bool:
        """Whether the odd group, or the main one where both are calls, is rank 0 by itself."""
        alone = [[p.rank for p in group] == [0] and group[0].stage in CALLS for group in (self.odd, self.main)]
        calls = all(p.stage in CALLS for p in (*self.odd, *self.main))
        return any(alone) and bool(self.odd) and (self.several or not calls)

    @property
    def first_among_others(self) -> bool:
        """Whether rank 0 stands with other ranks on one side, so that it did not go its way by itself."""
        sides = ([p.rank for p in group] for group in (self.odd, self.main))
        return bool(self.odd) and any(0 in side and len(side) > 1 and None not in side for side in sides)

    @property
    def several(self) -> bool:
        """Whether more than two ranks left a place, so that being alone means something."""
        return len(self.main + self.odd) > 2


def part(positions: Iterable[Position], world: int | None = None) -> Parting | None:
    """Return how the ranks parted; None where no rank left a position, none of them waits, or one died before the rest.

    `world` is the number of ranks, where it is known.
    """
    known = by_rank(one for one in positions if one.stage != "unknown")
    if known and len(stages := {one.stage for one in known}) == 1 and stages <= {"init", "data"}:
        return Parting(way="all-in-init" if stages == {"init"} else "all-in-loader", main=tuple(known), odd=())
    groups: dict[tuple[object, ...], list[Position]] = {}
    for one in known:
        groups.setdefault(_key(one), []).append(one)
    if not any(one.waits for one in known):
        return None
    ordered = sorted(groups.values(), key=_weight, reverse=True)
    return _in_pairs(ordered) or _making(known) or _of_groups(known, ordered, world)


def _in_pairs(ordered: Sequence[Sequence[Position]]) -> Parting | None:
    """Return how the ranks stand where all of them wait in a send or a receive."""
    known = [one for group in ordered for one in group]
    sides = {side_of_pair(one.place.op) if one.waits else "" for one in known}
    if len(known) < 2 or "" in sides:
        return None
    way: Way = "all-send" if sides == {"send"} else "all-receive" if sides == {"recv"} else "all-in-pairs"
    return Parting(way=way, main=tuple(ordered[0]), odd=tuple(known[len(ordered[0]) :]))


def _making(known: Sequence[Position]) -> Parting | None:
    """Return who still makes a process group, where somebody does."""
    making = tuple(one for one in known if one.stage == "group")
    rest = tuple(one for one in known if one.stage != "group")
    return Parting(way="making-groups", main=rest or making, odd=making if rest else ()) if making else None


def _of_groups(known: Sequence[Position], ordered: Sequence[Sequence[Position]], world: int | None) -> Parting | None:
    main = ordered[0]
    if len(ordered) == 1:
        rest_of: Way = "rest-in-step" if main[0].stage in STEP else "rest-in-call"
        way: Way = rest_of if len(known) < (world or 2) else "same-place"
        return Parting(way=way, main=tuple(main), odd=(), function=main[0].place.op * (way == "same-place"))
    odd = min(ordered[1:], key=lambda group: (_telling(group), len(group)))
    if _went_on(main[0], odd[0]) or _went_on(odd[0], main[0]):
        return None
    way, function = _way(main[0], odd[0])
    return Parting(way=way, main=tuple(main), odd=tuple(odd), function=function)


def _went_on(died: Position, other: Position) -> bool:
    """Whether a rank died in a call of a function of which another had only come to a later line."""
    _, (mine, theirs) = _together(died.calls, other.calls, _fork(died.calls, other.calls))
    return died.died and mine < theirs


def _key(one: Position) -> tuple[object, ...]:
    return one.spot if one.waits else (*one.spot[-2:-1], one.stage)


def _weight(group: Sequence[Position]) -> tuple[bool, bool, int, bool]:
    """The main group waits; in a step rather than in a call, because calls are what somebody is sent into alone."""
    one = group[0]
    return one.waits, one.stage in STEP, len(group), [p.rank for p in group] != [0]


def _telling(group: Sequence[Position]) -> int:
    """Which of several odd groups tells most: one that works, then one in a call, then any other."""
    stage = group[0].stage
    return 0 if not group[0].waits else 1 if stage in CALLS else 2


def _way(main: Position, odd: Position) -> tuple[Way, str]:
    at = _fork(main.frames, odd.frames)
    function, lines = _together(main.frames, odd.frames, at)
    same = at == len(main.frames) == len(odd.frames)
    if same and main.waits and odd.waits and _evaluates(main) != _evaluates(odd):
        return "evaluation-apart", function
    if odd.place.kind == "thread":
        return "own-thread", function
    if odd.place.kind == "lock" and lines[1] < lines[0]:
        return "lock-around-call", function
    if same:  # one statement of the user's: where its library parts them
        _, lines = _together(main.calls, odd.calls, _fork(main.calls, odd.calls))
    way = _between(main, odd, at, lines)
    return way, main.place.op if way == "generation-apart" else function


def _between(main: Position, odd: Position, at: int, lines: tuple[int, int]) -> Way:
    stages = {main.stage, odd.stage}
    if "data" in stages:
        return "one-in-loader"
    generates = main.generates != odd.generates and stages & STEP
    if generates or (main.stage in STEP and main.inference and not odd.inference):
        return "generation-apart" if generates else "inference-apart"
    if not odd.waits or (len(stages) > 1 and "save" in stages):
        return "save-apart" if odd.waits else "one-works"
    if main.stage not in STEP:
        return _calls(main, odd, at)
    if odd.stage in STEP:
        return "model-paths"
    return "behind-step" if lines[0] < lines[1] else "before-step" if lines[0] > lines[1] else "beside-step"


def _together(mine: Sequence[Frame], theirs: Sequence[Frame], at: int) -> tuple[str, tuple[int, int]]:
    """Return the function in which two ranks stand at frame `at`, with the line of each; nothing of two functions."""
    one, other = _frame(mine, at), _frame(theirs, at)
    if one is None or other is None or _name(one) != _name(other):
        return "", (0, 0)
    return one.function, (one.line, other.line)


def _evaluates(one: Position) -> bool:
    """Whether a library's evaluation loop runs around the place."""
    return any(_EVALUATION.search(f"{frame.path} {frame.function}") for frame in one.calls)


def _calls(main: Position, odd: Position, at: int) -> Way:
    """How two calls of the user's lie to each other; `at` is the first frame at which they differ."""
    mine, theirs = _frame(main.frames, at), _frame(odd.frames, at)
    ends = len(main.frames) == len(odd.frames) == at + 1
    if mine is None or theirs is None or not ends or _name(mine)[0] != _name(theirs)[0]:
        return "calls-apart"
    if "barrier" in {main.stage, odd.stage}:
        return "calls-side-by-side" if _name(mine) == _name(theirs) else "calls-apart"
    return "calls-swapped" if _name(mine) == _name(theirs) or at else "calls-apart"


def _fork(mine: Sequence[Frame], theirs: Sequence[Frame]) -> int:
    """Index of the first of the frames, outermost first, at which two ranks differ."""
    for index, (one, other) in enumerate(zip(mine, theirs, strict=False)):
        if (*_name(one), one.line) != (*_name(other), other.line):
            return index
    return min(len(mine), len(theirs))


def _name(frame: Frame) -> tuple[str, str]:
    return frame.path.replace("\\", "/").rpartition("/")[2], frame.function


def _frame(frames: Sequence[Frame], index: int) -> Frame | None:
    return frames[index] if index < len(frames) else None
