"""Says of the dumps of all ranks which group, which call, and who stays away from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from distkb.evidence.artifact import ArtifactReading
from distkb.evidence.observation import Skipped
from distkb.evidence.readers.flight_recorder.align import Aligner, first_open
from distkb.evidence.readers.flight_recorder.blame import WaitGraph, by_departure
from distkb.evidence.readers.flight_recorder.consequences import mark_consequences, name_by_habit
from distkb.evidence.readers.flight_recorder.dump import RankDump, Tables, total
from distkb.evidence.readers.flight_recorder.exchange import uneven
from distkb.evidence.readers.flight_recorder.findings import HANGS, LOOKED_FOR, CallWords, all_complete, observations
from distkb.evidence.readers.flight_recorder.groups import ProcessGroup, join
from distkb.evidence.readers.flight_recorder.load import Loaded
from distkb.evidence.readers.flight_recorder.moments import STANDING, without_older
from distkb.evidence.readers.flight_recorder.peers import awaited_halves, unmatched
from distkb.evidence.readers.flight_recorder.problem import At, Problem
from distkb.evidence.readers.flight_recorder.roots import wrong_root
from distkb.evidence.readers.flight_recorder.track import COMPLETED, STATE_NAMES, Track
from distkb.evidence.readers.flight_recorder.waits import crossing, standing
from distkb.evidence.text.clean import quote_text
from distkb.evidence.text.ranks import listed

_MAX_GROUPS_SHOWN = 64
_MAX_PROBLEMS = 40
_FIRST = 8
"""Problems whose ranks' earlier calls are looked at, which takes as long as they are many."""
_MAX_PEERS = 4
"""Sends and receives of one group without their other half that are shown."""


def analyse(loaded: Loaded) -> ArtifactReading:
    """Return the findings of dumps that were read."""
    groups = join(loaded.dumps, loaded.tables)
    problems = find_problems(groups, loaded.dumps, loaded.tables)
    found = observations(problems[:_MAX_PROBLEMS], loaded.tables)
    if not problems and _has_calls(groups) and not _has_open(groups):
        found = (all_complete(loaded.dumps),)
    present = {observation.id for observation in found}
    return ArtifactReading(
        observations=found,
        clear=tuple(name for name in LOOKED_FOR if name not in present),
        facts=_facts(groups, problems, loaded),
        skipped=_few(loaded.skipped),
        bytes_read=loaded.bytes_read,
    )


def find_problems(groups: Sequence[ProcessGroup], dumps: Mapping[int, RankDump], tables: Tables) -> list[Problem]:
    """Return all problems, the earliest cause first and what only follows from another one last."""
    waits = standing(groups)
    problems = crossing(groups, waits)
    for group in groups:
        found = Aligner(group, dumps, tables).problems()
        missing = _missing(group, dumps, found)
        problems.extend(found if missing is None else [missing, *(p for p in found if p.kind != "running")])
        problems.extend(unmatched(group, dumps, tables, waits))
        problems.extend(p for p in (uneven(group, dumps, tables), wrong_root(group, tables)) if p is not None)
    problems = without_older(problems)
    awaited = awaited_halves(problems)
    graph = WaitGraph(groups, waits, problems)
    kept = mark_consequences(problems, waits, groups)
    explained = any(p.kind not in (*_ON_DEVICE, *_UNSURE) and not p.is_consequence for p in kept)
    kept = [problem for problem in kept if not (explained and problem.kind in _ON_DEVICE)]
    if any(p.kind not in _UNSURE and not p.is_consequence for p in kept):
        kept = [problem for problem in kept if not (problem.is_consequence and problem.kind in _BETWEEN_TWO)]
    is_in_motion = any(problem.kind == "not-at-once" for problem in kept)
    kept.sort(
        key=lambda problem: (
            is_in_motion and problem.kind in STANDING,
            problem.kind in _UNSURE,
            problem.is_consequence,
            problem.order,
        )
    )
    kept[:_FIRST] = [name_by_habit(problem, waits, groups, tables, awaited) for problem in kept[:_FIRST]]
    if kept and kept[0].kind in _CIRCULAR:
        first = by_departure([p for p in kept[:_FIRST] if p.kind in _CIRCULAR], graph, tables)
        kept = [*first, *(problem for problem in kept if not any(problem is one for one in first))]
    return _folded(_joined(kept, tables))


_ON_DEVICE = ("running", "transfer")
"""What all have called and has not ended."""
_BETWEEN_TWO = ("peer", "transfer")
_CIRCULAR = frozenset(("peer", "circle", "cross", "transfer", "behind", "never"))
"""Problems behind which all may wait for each other."""
_UNSURE = frozenset(("not-at-once", "too-short"))
"""What the recording does not show, rather than what is wrong in the run."""


def _joined(problems: Sequence[Problem], tables: Tables) -> list[Problem]:
    """Return the problems with those together in which one call lacks ranks of several groups, or dumps are missing."""
    first: dict[object, Problem] = {}
    kept = []
    for problem in problems:
        key = _alike(problem, tables)
        one = first.setdefault(key, problem) if key is not None else problem
        if one is problem or (problem.kind == "peer" and one.group is problem.group):
            kept.append(problem)
        else:
            one.alike += not set(problem.culprits) <= set(one.culprits)
            one.culprits = tuple(sorted({*one.culprits, *problem.culprits}))
            one.others = tuple(sorted({*one.others, *problem.others} - set(one.culprits)))
    return kept


def _alike(problem: Problem, tables: Tables) -> object | None:
    """Return what two problems have to share to be one; None for one that stands for itself."""
    if problem.kind == "missing":
        return "missing"
    if problem.kind == "transfer":
        return "transfer", problem.is_consequence, id(problem.group)
    if problem.kind not in ("behind", "never", "peer", "unusual") or problem.expected is None:
        return None
    tracks = problem.group.peers if problem.expected.is_peer else problem.group.tracks
    track, at = tracks[problem.expected.rank], problem.expected.position
    op, size = tables.calls[track.calls[at]].op, len(problem.group.members)
    return problem.kind, problem.is_consequence, op, track.places[at], size, problem.group.key.desc


def _folded(problems: Sequence[Problem]) -> list[Problem]:
    """Return each culprit's absence once: the ranks that stay away from one group stay away from others too.

    Of the sends and receives of one group that found no other half, only the first few are kept.
    """
    away: set[tuple[int, ...]] = set()
    peers: Counter[int] = Counter()
    kept = []
    for problem in problems:
        if problem.kind in ("behind", "never"):
            if problem.culprits in away:
                continue
            away.add(problem.culprits)
        elif problem.kind == "peer":
            peers[id(problem.group)] += 1
            if peers[id(problem.group)] > _MAX_PEERS:
                continue
        kept.append(problem)
    return kept


def _missing(group: ProcessGroup, dumps: Mapping[int, RankDump], found: Sequence[Problem]) -> Problem | None:
    """Return the problem of members without a dump, with the call in which the others wait for somebody."""
    absent = tuple(rank for rank in group.members if rank not in dumps)
    if not absent:
        return None
    problem = Problem(kind="missing", group=group, sequence=0, culprits=absent)
    if any(p.kind in ("behind", "never") for p in found):
        return problem  # who is there and stays away says more, and comes first
    running = next((p for p in found if p.kind == "running"), None)
    if running is not None and running.expected is not None:
        problem.expected, problem.others, problem.sequence = running.expected, running.culprits, running.sequence
        problem.order = running.order
        return problem
    for is_peer, tracks in ((False, group.tracks), (True, group.peers)):
        for rank, track in tracks.items():
            position = first_open(track)
            if position is not None:
                problem.expected, problem.others = At(rank=rank, position=position, is_peer=is_peer), (rank,)
                problem.order = track.records[position]
                return problem
    return problem


def _has_calls(groups: Sequence[ProcessGroup]) -> bool:
    return any(len(track) for group in groups for track in (*group.tracks.values(), *group.peers.values()))


def _has_open(groups: Sequence[ProcessGroup]) -> bool:
    return any(
        first_open(track) is not None for group in groups for track in (*group.tracks.values(), *group.peers.values())
    )


def _few(skipped: Sequence[Skipped]) -> tuple[Skipped, ...]:
    """Return what was skipped; a folder with the files of two runs is said once, not for every rank."""
    others = tuple(item for item in skipped if item.code != "same-rank")
    twice = tuple(item for item in skipped if item.code == "same-rank")
    return (*others, *twice[:3])


def _facts(groups: Sequence[ProcessGroup], problems: Sequence[Problem], loaded: Loaded) -> dict[str, Any]:
    words = CallWords(loaded.tables)
    members = {rank for group in groups for rank in group.members}
    facts: dict[str, Any] = {
        "ranks": listed(loaded.dumps),
        "dumps": len(loaded.dumps),
        "entries": total(loaded.dumps.values()),
        "versions": sorted({quote_text(dump.version) for dump in loaded.dumps.values()}),
        "missing": listed(members - loaded.dumps.keys()),
        "damaged": listed(loaded.damaged),
        "groups": [_group_facts(group, loaded, words) for group in _interesting(groups, problems)],
        "groups_total": len(groups),
    }
    if any(problem.kind in HANGS for problem in problems):
        facts["implies"] = ["symptom=hang"]
    return facts


def _interesting(groups: Sequence[ProcessGroup], problems: Sequence[Problem]) -> list[ProcessGroup]:
    """Return the groups with problems first, in the order of these, then the others."""
    first: dict[int, ProcessGroup] = {}
    for problem in problems:
        for group in (problem.group, problem.other_group):
            if group is not None:
                first.setdefault(id(group), group)
    rest = [group for group in groups if id(group) not in first]
    return [*first.values(), *rest][:_MAX_GROUPS_SHOWN]


def _group_facts(group: ProcessGroup, loaded: Loaded, words: CallWords) -> dict[str, Any]:
    """Return one group as a table: ranks that stand alike, their last call, where from, and its state."""
    rows: dict[tuple[int, str, str, str], list[int]] = {}
    for rank in group.members:
        track = _where(group, rank)
        if rank not in loaded.dumps:
            rows.setdefault((-2, "", "", "no-dump"), []).append(rank)
        elif not track:
            rows.setdefault((-1, "", "", "no-call"), []).append(rank)
        else:
            position = first_open(track)
            at = len(track) - 1 if position is None else position
            call = loaded.tables.calls[track.calls[at]]
            state = "completed" if track.states[at] == COMPLETED else STATE_NAMES[track.states[at]]
            key = (track.sequence[at], quote_text(call.op), words.place(track.places[at]), state)
            rows.setdefault(key, []).append(rank)
    return {
        "group": quote_text(group.label),
        "name": quote_text(group.key.name),
        "members": listed(group.members),
        "size": len(group.members),
        "rows": [
            {"ranks": listed(ranks, 6), "seq": seq if seq >= 0 else None, "op": op, "at": at, "state": state}
            for (seq, op, at, state), ranks in sorted(rows.items(), key=lambda row: (row[0][0], row[1][0]))
        ][:32],
    }


def _where(group: ProcessGroup, rank: int) -> Track | None:
    """Return the collectives of a rank or its sends and receives: where its oldest open call is, or else its newest."""
    tracks = [track for track in (group.tracks.get(rank), group.peers.get(rank)) if track]
    opened = [(track.records[at], track) for track in tracks if (at := first_open(track)) is not None]
    if opened:
        return min(opened, key=lambda found: found[0])[1]
    return max(tracks, key=lambda track: track.records[-1], default=None)
