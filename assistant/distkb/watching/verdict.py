"""From where the ranks stand to a word: stuck, slow, or in something that takes its time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from distkb.evidence.readers.stacks.judge import at, judge
from distkb.evidence.readers.stacks.known import WAITING, is_library
from distkb.evidence.readers.stacks.model import Dump, Frame
from distkb.evidence.readers.stacks.place import place_of, representative
from distkb.evidence.text.clean import quote_text

Outcome = Literal["stuck", "slow", "phase", "blind"]
"""`phase`: nothing moves, in a place where that is usual for minutes. `blind`: no stack could be taken."""
WORKS = 0.3
"""Cores from which on a rank, with all below it, works rather than waits."""
PHASES = ("import", "build", "compile", "init", "save", "eval")


class StandingRanks(msgspec.Struct, frozen=True, kw_only=True):
    """Ranks that stand in one place."""

    ranks: str
    n: int
    kind: str
    call: str
    at: str
    """`train.py:142`; `?` where none of the frames is the user's."""
    path: str = ""
    source: str = ""
    odd: bool = False
    stopped: bool = False
    cores: float | None = None
    below: str = ""
    """Where a worker of its data loader stands, `data.py:41`, and in which function: what the rank waits for."""
    below_call: str = ""


class Unseen(msgspec.Struct, frozen=True, kw_only=True):
    """Ranks of which there is no stack."""

    missing: str = ""
    """Ranks that the job should have and that are not there."""
    halted: str = ""
    """Ranks that are stopped by a signal, and of which nothing more is known."""
    unread: str = ""
    """Ranks and nodes that could not be looked at."""
    reason: str = ""
    """Why nothing was taken: key of a sentence `probe.reason.…`."""


_ALL_SEEN = Unseen()


class JobVerdict(Unseen, frozen=True, kw_only=True):
    """What was seen of all ranks."""

    outcome: Outcome
    places: tuple[StandingRanks, ...] = ()
    """Those that stand elsewhere first."""
    phase: str = ""


def conclude(
    dumps: Sequence[Dump],
    cores: Mapping[int, float],
    *,
    wanted: Mapping[int, float] = {},
    workers: Sequence[Dump] = (),
    unseen: Unseen = _ALL_SEEN,
) -> JobVerdict:
    """Return what the stacks say; `cores` is what each rank, with all processes below it, used of late.

    `wanted` is what it would have used alone: on a crowded machine a rank that works gets little.
    """
    busy = {pid: max(cores.get(pid, 0.0), wanted.get(pid, 0.0)) for pid in {*cores, *wanted}}
    judged = judge(dumps)
    groups: Sequence[Mapping[str, Any]] = judged.facts["groups"] if dumps else ()
    if not groups:
        works = any(share >= WORKS for share in busy.values())
        outcome: Outcome = "stuck" if unseen.halted else "slow" if works else "blind"
        return JobVerdict(outcome=outcome, **msgspec.structs.asdict(unseen))
    stopped = {dump.pid for dump in dumps if dump.stopped}
    places = tuple(sorted((_place(group, cores, stopped, workers) for group in groups), key=_order))
    kinds = {kind for group in groups for kind in (group["kind"], group["within"])}
    phase = next((kind for kind in PHASES if kind in kinds), "")
    outcome = "stuck"
    if not stopped and not unseen.halted and any(_works(group, busy) for group in groups):
        outcome = "slow"
    elif phase and not stopped and not unseen.halted and not unseen.missing:
        outcome = "phase"
    return JobVerdict(outcome=outcome, places=places, phase=phase, **msgspec.structs.asdict(unseen))


def _order(place: StandingRanks) -> tuple[bool, bool]:
    return not place.stopped, not place.odd


def _works(group: Mapping[str, Any], busy: Mapping[int, float]) -> bool:
    """Whether a rank of a group gets on: it burns processor time, or would, and not in waiting for the others."""
    share = _share(group, busy, "wanted")
    return share is not None and share >= WORKS and (bool(group["moved"]) or group["kind"] not in WAITING)


def _share(group: Mapping[str, Any], cores: Mapping[int, float], also: str = "cpu") -> float | None:
    shares = [cores[pid] for pid in group["pids"] if pid in cores]
    shares += [group[name] for name in {"cpu", also} if group[name] is not None]
    return max(shares, default=None)


def _place(
    group: Mapping[str, Any], cores: Mapping[int, float], stopped: set[int | None], workers: Sequence[Dump]
) -> StandingRanks:
    frame: Mapping[str, Any] = next((frame for frame in group["stack"] if frame["path"]), {})
    share = _share(group, cores)
    worker = _worker(group, workers)
    return StandingRanks(
        ranks=group["label"],
        n=len(group["ranks"]),
        kind=group["within"] if group["kind"] in ("io", "user", "unknown") and group["within"] else group["kind"],
        call=group["call"] or frame.get("function", ""),
        at=group["at"],
        path=frame.get("path", ""),
        source=frame.get("source", ""),
        odd=group["odd"],
        stopped=bool(group["pids"]) and stopped.issuperset(group["pids"]),
        cores=None if share is None else round(share, 2),
        below="" if worker is None else at(worker),
        below_call="" if worker is None else quote_text(worker.function),
    )


def _worker(group: Mapping[str, Any], workers: Sequence[Dump]) -> Frame | None:
    """Return the frame of the user's at which a worker of these ranks stands, if one is at work at all."""
    if group["kind"] != "dataloader":
        return None
    for dump in workers:
        frame = place_of(representative(dump.snapshots[-1]) if dump.snapshots else None).at
        if dump.rank in group["ranks"] and frame is not None and not is_library(frame.path):
            return frame
    return None
