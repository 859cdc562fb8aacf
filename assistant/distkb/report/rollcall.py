"""The roll call for people: what became of the ranks, those first that one looks for first."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import get_args

from distkb.evidence.observation import RankState, State
from distkb.evidence.text.ranks import SHOWN, listed
from distkb.locale import Say
from distkb.report.layout import cut
from distkb.report.story import message

GROUPS, WORDS = 6, 90
"""Lines of the roll call, and columns of what a rank said or where it stood."""
_NUMBERS = re.compile(r"\d+")
"""Ranks that stopped at one step print other losses: what they said is told once."""
_ORDER = {state: place for place, state in enumerate(get_args(State))}


def lines(ranks: Iterable[RankState], say: Say) -> list[str]:
    """Return a line for each group of ranks of one state and place; nothing where one rank's last words are all."""
    ordered = groups(ranks)
    if sum(map(len, ordered)) < 2 and not any(one.place for members in ordered for one in members):
        return []
    shown = [said(members, say) for members in ordered[:GROUPS]]
    left = sum(len(members) for members in ordered[GROUPS:])
    return [*shown, say("roll.more", n=left)] if left else shown


def groups(ranks: Iterable[RankState]) -> list[list[RankState]]:
    """Return the ranks of one state and place together, those first that one looks for first."""
    found: dict[tuple[State, str], list[RankState]] = {}
    for one in ranks:
        found.setdefault((one.state, _NUMBERS.sub("#", _about(one))), []).append(one)
    return sorted(found.values(), key=lambda members: (order(members[0]), len(members)))


def order(one: RankState) -> int:
    """Return the place of a rank's state in the roll call."""
    return _ORDER[one.state]


def said(members: list[RankState], say: Say, shown: int = SHOWN) -> str:
    """Return what became of ranks of one group; of a scattered one `shown` pieces are written."""
    state, about = members[0].state, _about(members[0])
    who = say("roll.ranks" if len(members) > 1 else "report.rank", rank=listed((one.rank for one in members), shown))
    key = f"roll.{state}" if about or state in ("missing", "done") else f"roll.{state}.unknown"
    return say(key, who=who, about=cut(about, WORDS).replace("`", "'"))


def _about(one: RankState) -> str:
    """Where the rank stood, or what it said last: ranks that have it in common are told together."""
    if one.state in ("waits", "works"):
        return one.place
    if one.state in ("missing", "done") or one.last is None:
        return ""
    return message(one.last)
