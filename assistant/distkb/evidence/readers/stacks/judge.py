"""Draws the findings from where the ranks stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from distkb.evidence.observation import Observation, Quote
from distkb.evidence.readers.stacks.group import RankGroup, Standing, groups_of, label_of, main_group, standings
from distkb.evidence.readers.stacks.known import Kind
from distkb.evidence.readers.stacks.model import Dump, Frame
from distkb.evidence.readers.stacks.place import StackPosition, collective_beside, role
from distkb.evidence.text.clean import quote_text
from distkb.evidence.text.ranks import MOST_RANKS, listed

IDS = (
    "stacks.one-rank-elsewhere",
    "stacks.some-ranks-elsewhere",
    "stacks.all-in-same-collective",
    "stacks.rank-in-save-or-eval",
    "stacks.rank-in-dataloader",
    "stacks.ranks-split",
    "stacks.rank-in-barrier",
    "stacks.rank-in-init",
    "stacks.rank-finished",
    "stacks.rank-in-io",
    "stacks.rank-in-compile",
    "stacks.rank-in-build",
    "stacks.rank-at-lock",
    "stacks.rank-in-debugger",
    "stacks.rank-stopped",
    "stacks.thread-in-collective",
)
"""What is looked for in every set of stacks; absent ones are told as clear."""

_BY_KIND: Mapping[Kind, str] = {
    "save": "stacks.rank-in-save-or-eval",
    "eval": "stacks.rank-in-save-or-eval",
    "log": "stacks.rank-in-save-or-eval",
    "dataloader": "stacks.rank-in-dataloader",
    "init": "stacks.rank-in-init",
    "finished": "stacks.rank-finished",
    "io": "stacks.rank-in-io",
    "compile": "stacks.rank-in-compile",
    "build": "stacks.rank-in-build",
    "import": "stacks.rank-in-build",
    "lock": "stacks.rank-at-lock",
    "debugger": "stacks.rank-in-debugger",
}
_ALONE: frozenset[Kind] = frozenset({"init", "debugger"})
"""Places that say something even where no rank waits for them."""
_CALLS: frozenset[Kind] = frozenset({"collective", "barrier"})
_CHAIN = 4


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """What the stacks say."""

    observations: tuple[Observation, ...]
    clear: tuple[str, ...]
    facts: dict[str, Any]


def judge(dumps: Sequence[Dump]) -> Judged:
    """Group the ranks and name the odd ones. Findings need two ranks; a rank alone is only described."""
    standing = standings(dumps)
    groups = groups_of(standing)
    main = main_group(groups)
    others = [group for group in reversed(groups) if group is not main]
    placed = [group for group in others if not group.stopped]
    moving = _moving(standing, main)
    found: list[Observation] = []
    if main is not None:
        found += _stopped(standing) + _beside(standing)
        if moving is not None:
            found.append(moving)
        elif placed or not others:  # where a stopped rank stands is chance, and compared with nothing
            found += _compared(main, placed, standing) + _working(main, placed)
        found += _incomplete(standing)
    several = len(standing) > 1 and moving is None and placed == others
    seen = {observation.id for observation in found}
    if "stacks.rank-in-barrier" in seen:
        seen.add("stacks.ranks-split")  # the same, said more exactly
    if "stacks.all-in-dataloader" in seen:
        seen.add("stacks.rank-in-dataloader")  # all of them are
    clear = tuple(name for name in IDS if name not in seen) if several else ()
    return Judged(
        observations=tuple(found),
        clear=clear,
        facts=_facts(dumps, standing, [*others, *([main] if main else [])], main, moved=moving is not None),
    )


def _moving(standing: Sequence[Standing], main: RankGroup | None) -> Observation | None:
    """Say that nothing hangs: ranks that would be the waiting ones went on between two snapshots."""
    if main is None or not any(member.moved for member in main.members):
        return None
    going = [one for one in standing if one.moved]
    values = {"ranks": label_of(going), "n": str(len(going)), "of": str(len(standing))}
    return _observation("stacks.ranks-moving", values, going)


def _compared(main: RankGroup, others: Sequence[RankGroup], standing: Sequence[Standing]) -> list[Observation]:
    if len(standing) < 2:
        return _alone(main) if main.place.kind in _ALONE else []
    if not others:
        return _together(main, standing)
    found: list[Observation] = []
    if main.waits:
        odd = [member for group in others for member in group.members]
        if len(odd) == 1:
            found.append(_between("stacks.one-rank-elsewhere", main, others[0]))
        else:
            found.append(_between("stacks.some-ranks-elsewhere", main, *others))
    for group in others:
        if main.waits or group.place.kind in _ALONE:
            found += _odd(main, group)
    return found + (_alone(main) if main.place.kind in _ALONE else [])


def _together(main: RankGroup, standing: Sequence[Standing]) -> list[Observation]:
    """Judge ranks that all stand in one place. Where some were not dumped, nobody knows where those are."""
    if main.place.kind in ("collective", "barrier") and not _missing(standing):
        return [_observation("stacks.all-in-same-collective", _where(main), main.members)]
    return _alone(main) if main.place.kind in {*_ALONE, "compile", "build", "lock", "dataloader"} else []


def _alone(group: RankGroup) -> list[Observation]:
    """Name a place that all ranks of a group share and that is not a collective."""
    identity = "stacks.all-in-dataloader" if group.place.kind == "dataloader" else _BY_KIND[group.place.kind]
    return [_observation(identity, _odd_values(group), group.members)]


def _odd(main: RankGroup, group: RankGroup) -> list[Observation]:
    """Name what one odd group does."""
    found: list[Observation] = []
    place = group.place
    if main.waits and place.kind == "barrier" and main.place.kind != "barrier":
        found.append(_between("stacks.rank-in-barrier", main, group))
    elif place.kind in _CALLS and main.place.kind in (*_CALLS, "backward"):
        found.append(_between("stacks.ranks-split", main, group))
    about = {_BY_KIND.get(place.kind), _BY_KIND.get(place.within or "unknown")} - {None}
    if main.place.within is not None:
        about.discard(_BY_KIND.get(main.place.within))
    if place.kind in _CALLS:  # whatever its function is called, it does not read while it waits for others
        about.discard("stacks.rank-in-io")
    return found + [_about(identity, main, group) for identity in sorted(name for name in about if name)]


def _about(identity: str, main: RankGroup, group: RankGroup) -> Observation:
    """Name what an odd group is doing, by the user's function where it stands in a collective."""
    observation = _between(identity, main, group)
    place = group.place
    if place.kind not in _CALLS or place.at is None:
        return observation
    return msgspec.structs.replace(
        observation, values={**observation.values, "function": quote_text(place.at.function)}
    )


def _working(main: RankGroup, others: Sequence[RankGroup]) -> list[Observation]:
    """Name ranks that go on while the others wait: the wait may end by itself."""
    going = [member for group in others for member in group.members if member.moved]
    if not main.waits or not going:
        return []
    group = RankGroup(place=going[0].place, members=tuple(going))
    return [_between("stacks.rank-still-working", main, group)]


def _stopped(standing: Sequence[Standing]) -> list[Observation]:
    stopped = [one for one in standing if one.dump.stopped]
    if not stopped:
        return []
    pids = " ".join(str(one.dump.pid) for one in stopped if one.dump.pid is not None)
    return [_observation("stacks.rank-stopped", {"odd": label_of(stopped), "pids": pids or "PID"}, stopped)]


def _beside(standing: Sequence[Standing]) -> list[Observation]:
    """Name ranks in which a second thread stands in a collective of its own."""
    found = [(one, collective_beside(one.dump.snapshots[-1])) for one in standing if one.dump.snapshots]
    ranks = [one for one, beside in found if beside is not None]
    first = next((beside for _, beside in found if beside is not None), None)
    if first is None:
        return []
    values = {
        "odd": label_of(ranks),
        "call": first[0],
        "function": quote_text(first[1].function),
        "place": at(first[1]),
    }
    return [_observation("stacks.thread-in-collective", values, ranks)]


def _incomplete(standing: Sequence[Standing]) -> list[Observation]:
    missing = _missing(standing)
    if not missing:
        return []
    return [
        Observation(
            id="stacks.incomplete",
            source="probe",
            values={"missing": listed(missing), "n": str(len(missing)), "seen": label_of(standing)},
        )
    ]


def _missing(standing: Sequence[Standing]) -> set[int]:
    """Return the ranks that the job has and nobody dumped."""
    ranks = {one.dump.rank for one in standing if one.dump.rank is not None}
    if not ranks:
        return set()
    world = max((one.dump.world_size or 0 for one in standing), default=0)
    return set(range(min(max(world, max(ranks) + 1), MOST_RANKS))) - ranks


def _between(identity: str, main: RankGroup, *odd: RankGroup) -> Observation:
    members = [member for group in odd for member in group.members]
    values = {**_where(main), **_odd_values(odd[0]), "odd": label_of(members), "n": str(len(members))}
    return _observation(identity, values, members, [*odd, main])


def _where(group: RankGroup) -> dict[str, str]:
    return {"ranks": group.label, "call": group.place.op or group.place.kind, "place": at(group.place.at)}


def _odd_values(group: RankGroup) -> dict[str, str]:
    return {"odd": group.label, "function": group.place.op or group.place.kind, "there": at(group.place.at)}


def _observation(
    identity: str, values: Mapping[str, str], members: Sequence[Standing], groups: Sequence[RankGroup] = ()
) -> Observation:
    together = groups or groups_of(members)
    return Observation(
        id=identity,
        source="probe",
        values={name: quote_text(value) for name, value in values.items()},
        quotes=tuple(_quote(group) for group in together[:6]),
        count=max(1, len(members)),
    )


def _quote(group: RankGroup) -> Quote:
    """Quote a group's stack, innermost call first, at the user's own line."""
    frame = group.place.at
    alone = group.members[0].dump.rank if len(group.members) == 1 else None
    before = "" if alone is not None else f"{group.label}: "
    if frame is None:
        dump = group.members[0].dump
        return Quote(
            text=quote_text(f"{before}{group.place.kind}"), path=quote_text(dump.path), line=dump.line, rank=alone
        )
    return Quote(
        text=quote_text(before + chain(group.place)),
        path=quote_text(frame.path),
        line=frame.line or None,
        rank=alone,
    )


def chain(place: StackPosition) -> str:
    """Return the calls of a place, innermost first: `all_reduce < train < main`."""
    names = [frame.function for frame in place.frames[:_CHAIN] if frame.function != "<module>"]
    first = [place.op] if place.op and place.op not in names[:1] else []
    source = place.frames[0].source if place.frames else ""
    return " < ".join([*first, *names]) + (f"    {source}" if source else "")


def at(frame: Frame | None) -> str:
    """Return where a frame is, short: `train.py:142`."""
    if frame is None:
        return "?"
    name = frame.path.replace("\\", "/").rpartition("/")[2] or "?"
    return f"{name}:{frame.line}" if frame.line else name


def _facts(
    dumps: Sequence[Dump],
    standing: Sequence[Standing],
    groups: Sequence[RankGroup],
    main: RankGroup | None,
    *,
    moved: bool,
) -> dict[str, Any]:
    roles = [role(dump) for dump in dumps]
    return {
        "groups": [_group_fact(group, odd=group is not main) for group in groups],
        "ranks": len(standing),
        "moving": moved,
        "launchers": roles.count("launcher"),
        "workers": roles.count("worker"),
    }


def _group_fact(group: RankGroup, *, odd: bool) -> dict[str, Any]:
    place = group.place
    cpu = [member.dump.cpu for member in group.members if member.dump.cpu is not None]
    wanted = [member.dump.wanted for member in group.members if member.dump.wanted is not None]
    return {
        "ranks": [member.dump.rank for member in group.members],
        "pids": [member.dump.pid for member in group.members],
        "hosts": sorted({member.dump.host for member in group.members if member.dump.host}),
        "label": group.label,
        "odd": odd,
        "kind": place.kind,
        "within": place.within,
        "call": quote_text(place.op),
        "at": quote_text(at(place.at)),
        "moved": [member.dump.rank for member in group.members if member.moved],
        "cpu": round(max(cpu), 2) if cpu else None,
        "wanted": round(max(wanted), 2) if wanted else None,
        "stack": [
            {
                "function": quote_text(frame.function),
                "path": quote_text(frame.path),
                "line": frame.line,
                "source": quote_text(frame.source),
            }
            for frame in place.frames
        ],
    }
