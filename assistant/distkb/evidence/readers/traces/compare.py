"""Who is behind, who went another way, who stopped with all the others: pure comparison of where ranks stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from distkb.evidence.readers.traces.mark import Operation
from distkb.evidence.readers.traces.runs import RankTrace, TracedRun
from distkb.evidence.text.ranks import listed

Pattern = Literal["none", "finished", "same", "behind", "diverged", "ended-early", "failed", "missing"]
_GROUPS = 256
"""Places at which ranks stand that are compared with one another; more than a few mean that names differ by rank."""
_SIDE_WORK: tuple[Operation, ...] = ("save", "logger", "eval", "data")
_ALL_INSIDE: dict[Operation, str] = {
    "init": "trace.all-in-init",
    "wrap": "trace.all-in-wrap",
    "forward": "trace.all-in-forward",
    "backward": "trace.all-in-backward",
    "barrier": "trace.all-in-barrier",
    "save": "trace.all-in-save",
    "logger": "trace.all-in-logger",
}
IDS = (
    *_ALL_INSIDE.values(),
    "trace.all-at-same",
    "trace.rank-behind",
    "trace.rank-behind-in-steps",
    "trace.rank-in-side-work",
    "trace.rank-in-sharded-save",
    "trace.ranks-diverge",
    "trace.first-forward-not-entered",
    "trace.first-forward-not-left",
    "trace.rank-never-started",
    "trace.rank-ended-early",
    "trace.rank-failed",
    "trace.world-differs",
)


class TraceFinding(msgspec.Struct, frozen=True, kw_only=True):
    """One conclusion: whose it is, and what fills its sentence."""

    id: str
    suspects: tuple[RankTrace, ...] = ()
    """Whom it is about, for the quotes."""
    others: tuple[RankTrace, ...] = ()
    values: Mapping[str, str] = {}


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """All conclusions about one run."""

    pattern: Pattern
    hits: tuple[TraceFinding, ...] = ()
    outliers: frozenset[int] = frozenset()
    """Ranks that the conclusions are about, where they are not about all."""


def compare(run: TracedRun) -> Comparison:
    """Say what the places of the ranks mean; the most telling pattern gives its name."""
    if not run.ranks:
        return Comparison(pattern="none")
    hits = [*_worlds(run)]
    missing = run.missing
    waiting = [rank for rank in run.ranks if rank.state == "waiting"]
    failed = [rank for rank in run.ranks if rank.state == "failed"]
    ended = [rank for rank in run.ranks if rank.state == "ended"]
    pattern: Pattern = "finished"
    outliers: set[int] = set()
    if missing and (waiting or failed):
        pattern, outliers = "missing", set(missing)
        hits.append(_missing(missing, run, waiting or failed))
    if failed:
        pattern, outliers = "failed", {rank.rank for rank in failed}
        hits.append(_failed(failed, waiting))
    elif waiting and ended:
        pattern, outliers = "ended-early", {rank.rank for rank in ended}
        hits.append(_ended(ended, waiting))
    if waiting and not failed:
        found = _standing(waiting, explained=pattern != "finished")
        hits += found.hits
        if found.pattern != "none" and pattern == "finished":
            pattern, outliers = found.pattern, set(found.outliers)
    return Comparison(pattern=pattern, hits=tuple(hits), outliers=frozenset(outliers))


def _of(ranks: Sequence[RankTrace]) -> str:
    return listed([rank.rank for rank in ranks])


def _worlds(run: TracedRun) -> list[TraceFinding]:
    if len(run.worlds) < 2:
        return []
    sizes = "; ".join(f"{world}: {listed(ranks)}" for world, ranks in run.worlds.items())
    least = min(run.worlds, key=lambda world: len(run.worlds[world]))
    suspects = tuple(rank for rank in run.ranks if rank.rank in run.worlds[least])
    return [TraceFinding(id="trace.world-differs", suspects=suspects, values={"sizes": sizes})]


def _missing(missing: Sequence[int], run: TracedRun, others: Sequence[RankTrace]) -> TraceFinding:
    world = run.world or max(rank.rank for rank in run.ranks) + 1
    values = {"ranks": listed(missing), "world": str(world), "others": _of(others), "last": others[0].last.shown}
    return TraceFinding(id="trace.rank-never-started", others=tuple(others), values=values)


def _failed(failed: Sequence[RankTrace], waiting: Sequence[RankTrace]) -> TraceFinding:
    first = min(failed, key=lambda rank: rank.end.time if rank.end and rank.end.time else rank.last.time or 0.0)
    values = {"ranks": _of(failed), "error": first.error, "last": first.last.shown}
    return TraceFinding(
        id="trace.rank-failed", suspects=(first, *_rest(failed, first)), others=tuple(waiting), values=values
    )


def _rest(ranks: Sequence[RankTrace], first: RankTrace) -> list[RankTrace]:
    return [rank for rank in ranks if rank is not first]


def _ended(ended: Sequence[RankTrace], waiting: Sequence[RankTrace]) -> TraceFinding:
    values = {"ranks": _of(ended), "others": _of(waiting), "last": waiting[0].last.shown}
    return TraceFinding(id="trace.rank-ended-early", suspects=tuple(ended), others=tuple(waiting), values=values)


def _standing(waiting: Sequence[RankTrace], *, explained: bool) -> Comparison:
    """Compare ranks that have not ended. `explained`: others are missing or gone, so that waiting alike is no news."""
    groups = _groups(waiting)
    if len(groups) == 1:
        return Comparison(pattern="none") if explained else _alike(waiting)
    fronts = [group for group in groups if not any(_is_behind(group[0], other[0]) for other in groups)]
    behind = [group for group in groups if group not in fronts]
    if len(fronts) == 1:
        # the one furthest behind holds up the others
        last = min(behind, key=lambda group: (_index(fronts[0][0], group[0]), len(group)))
        return _behind(last, fronts[0])
    # ranks that passed the same places in other orders may each be behind another: then none is in front
    fronts = fronts or groups
    fronts.sort(key=lambda group: (len(group), -group[0].rank))
    return _diverged(fronts[0], [rank for group in fronts[1:] for rank in group])


def _groups(ranks: Sequence[RankTrace]) -> list[list[RankTrace]]:
    groups: dict[tuple[str, str, int], list[RankTrace]] = {}
    for rank in ranks:
        groups.setdefault(rank.place, []).append(rank)
    return sorted(groups.values(), key=len, reverse=True)[:_GROUPS]


def _is_behind(rank: RankTrace, other: RankTrace) -> bool:
    """Whether `other` passed the place where `rank` stands, and `rank` never came to where `other` stands."""
    if not rank.places:
        return bool(other.places)
    return rank.place != other.place and rank.place in other.places and other.place not in rank.places


def _index(front: RankTrace, rank: RankTrace) -> int:
    return front.places.index(rank.place) if rank.place in front.places else -1


def _alike(ranks: Sequence[RankTrace]) -> Comparison:
    steps = {rank.steps for rank in ranks if rank.quiet is not None and rank.steps is not None}
    if len(steps) > 1:
        least = min(steps)
        slow = tuple(rank for rank in ranks if rank.steps == least)
        fast = tuple(rank for rank in ranks if rank.steps != least)
        values = {"ranks": _of(slow), "steps": str(least), "others": _of(fast), "most": str(max(steps))}
        hit = TraceFinding(id="trace.rank-behind-in-steps", suspects=slow, others=fast, values=values)
        return Comparison(pattern="behind", hits=(hit,), outliers=frozenset(rank.rank for rank in slow))
    if len(ranks) == 1:
        return Comparison(pattern="none")
    identity = _ALL_INSIDE.get(ranks[0].inside, "trace.all-at-same")
    values = {"n": str(len(ranks)), "last": ranks[0].last.shown}
    return Comparison(pattern="same", hits=(TraceFinding(id=identity, suspects=tuple(ranks), values=values),))


def _behind(slow: Sequence[RankTrace], front: Sequence[RankTrace]) -> Comparison:
    values = {
        "ranks": _of(slow), "others": _of(front), "last": slow[0].last.shown, "front": front[0].last.shown,
    }  # fmt: skip
    inside = slow[0].inside
    identity = "trace.rank-behind"
    if inside == "forward":
        identity = "trace.first-forward-not-left"
    elif inside in _SIDE_WORK:
        identity = _side_work(slow[0])
    elif front[0].inside == "forward":
        identity = "trace.first-forward-not-entered"
    hit = TraceFinding(id=identity, suspects=tuple(slow), others=tuple(front), values=values)
    return Comparison(pattern="behind", hits=(hit,), outliers=frozenset(rank.rank for rank in slow))


def _side_work(rank: RankTrace) -> str:
    """A sharded model is saved by all ranks together; anything else one rank may do alone, and take too long."""
    sharded = any(word in name.lower() for _, name, _ in rank.places for word in ("fsdp", "fully_shard", "deepspeed"))
    return "trace.rank-in-sharded-save" if rank.inside == "save" and sharded else "trace.rank-in-side-work"


def _diverged(few: Sequence[RankTrace], many: Sequence[RankTrace]) -> Comparison:
    other = many[0]
    for alone, rest in ((few, many), (many, few)):
        if alone[0].inside in _SIDE_WORK and rest[0].inside not in _SIDE_WORK:
            values = {
                "ranks": _of(alone), "others": _of(rest), "last": alone[0].last.shown, "front": rest[0].last.shown,
            }  # fmt: skip
            hit = TraceFinding(id=_side_work(alone[0]), suspects=tuple(alone), others=tuple(rest), values=values)
            return Comparison(pattern="behind", hits=(hit,), outliers=frozenset(rank.rank for rank in alone))
    values = {
        "common": _common(few[0], other), "ranks": _of(few), "last": few[0].last.shown, "others": _of(many),
        "front": other.last.shown,
    }  # fmt: skip
    hit = TraceFinding(id="trace.ranks-diverge", suspects=tuple(few), others=tuple(many), values=values)
    return Comparison(pattern="diverged", hits=(hit,), outliers=frozenset(rank.rank for rank in few))


def _common(rank: RankTrace, other: RankTrace) -> str:
    """Return the last checkpoint that both came to, as it is written; `start` where there is none."""
    known = set(other.places)
    shared = (name for place, name in zip(reversed(rank.places), reversed(rank.names), strict=True) if place in known)
    return next(shared, "start")
