"""What the NCCL watchdogs of several ranks say together: whether the ranks waited in the same collective."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from distkb.evidence.observation import Observation, Quote
from distkb.evidence.text.clean import quote_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from distkb.evidence.observation import Source
    from distkb.evidence.run.processes import Process, Run

SIGNATURE = "torch.nccl.watchdog-timeout"
FINDING = "flight-recorder.ranks-called-different-ops"
"""The watchdog's lines tell the same as the flight recorder's dump, for the one collective that timed out."""
BEHIND = "flight-recorder.rank-behind"
"""What a rank says of the last collective that it called, beside the one in which others timed out, tells this too."""
ALIVE = "run.behind-and-alive"
UNSURE = 0.7
"""Certainty where old versions do not print the process group: sequence numbers count within a group."""

_GROUP = re.compile(r"\bPG (?:ID \d+ PG GUID )?\d+ ?\((?P<name>\w+)\)")
_RANK = re.compile(r"[Rr]ank ?(?P<rank>\d{1,9})\b")
_WORK = re.compile(r"SeqNum=(?P<seq>\d{1,9}), OpType=(?P<op>\w+)(?:, NumelIn=(?P<numel>\d{1,18}))?")
_CALLED = re.compile(
    r"(?i)last enqueued(?: NCCL)? work: (?P<called>\d{1,9}), last completed(?: NCCL)? work: (?P<done>\d{1,9})"
)
_ALONE = frozenset({"SEND", "RECV", "COALESCED", "UNKNOWN"})
_ONE_SIZE = frozenset({"ALLREDUCE", "BROADCAST", "REDUCE", "ALLGATHER", "_ALLGATHER_BASE", "_REDUCE_SCATTER_BASE"})
"""Collectives to which every rank has to come with a tensor of the same size."""


class Waited(msgspec.Struct, frozen=True, kw_only=True):
    """The collective in which one rank timed out."""

    rank: int
    group: str
    """Empty where no line of the rank names its process group."""
    seq: int
    op: str
    numel: str
    quote: Quote


def different_ops(run: Run) -> Observation | None:
    """Ranks of one group that timed out at one sequence number in different collectives or sizes."""
    return _differing((one for process in run.ranked if (one := _waited(process)) is not None), "log")


def rank_behind(run: Run) -> tuple[Observation, ...]:
    """A rank whose watchdog says that it was done with all it had called, short of where others timed out.

    It had not called what they waited in, and was still there to say so.
    """
    waiting = [one for process in run.ranked if (one := _waited(process)) is not None and one.group]
    for process in run.ranked:
        for line in process.tail.where(_says_called):
            called, group = _CALLED.search(line.text), _GROUP.search(line.text)
            if called is None or group is None or called["called"] != called["done"]:
                continue
            others = [
                one
                for one in waiting
                if one.group == group["name"] and one.rank != process.rank and one.seq > int(called["called"])
            ]
            if others and all(one.rank != process.rank for one in waiting):
                text = quote_text(line.text, *called.span())
                quote = Quote(text=text, path=line.path, line=line.number, rank=process.rank)
                quotes = (quote, *(one.quote for one in others))[:6]
                return tuple(Observation(id=name, source="log", quotes=quotes) for name in (BEHIND, ALIVE))
    return ()


def _says_called(text: str) -> bool:
    return "ast enqueued" in text and "last completed" in text


def different_ops_told(lines: Sequence[str], path: str | None) -> Observation | None:
    """The same, in the watchdogs' lines of several ranks that a report quotes."""
    waited: dict[int, Waited | None] = {}
    for number, line in enumerate(lines, 1):
        found = _WORK.search(line) if "WorkNCCL(" in line else None
        rank = _RANK.search(line) if found is not None else None
        if found is None or rank is None or found["op"] in _ALONE:
            continue
        group = _GROUP.search(line)
        quote = Quote(text=quote_text(line, *found.span()), path=path, line=number, rank=int(rank["rank"]))
        one = _one(found, int(rank["rank"]), group["name"] if group else "", quote)
        before = waited.setdefault(one.rank, one)
        if before is not None and (before.seq, before.op, before.numel) != (one.seq, one.op, one.numel):
            waited[one.rank] = None  # It waited in several groups.
    return _differing((one for one in waited.values() if one is not None), "report")


def _differing(waited: Iterable[Waited], source: Source) -> Observation | None:
    slots: dict[tuple[str, int], list[Waited]] = {}
    for one in waited:
        slots.setdefault((one.group, one.seq), []).append(one)
    for (group, _), members in slots.items():
        kinds: dict[tuple[str, str], Waited] = {}
        for one in members:
            kinds.setdefault((one.op, one.numel if one.op in _ONE_SIZE else ""), one)
        if len(kinds) > 1:
            quotes = tuple(one.quote for one in kinds.values())[:6]
            return Observation(id=FINDING, source=source, certainty=1.0 if group else UNSURE, quotes=quotes)
    return None


def _one(found: re.Match[str], rank: int, group: str, quote: Quote) -> Waited:
    return Waited(
        rank=rank, group=group, seq=int(found["seq"]), op=found["op"], numel=found["numel"] or "", quote=quote
    )


def _waited(process: Process) -> Waited | None:
    """The first collective that a rank's watchdog names; None where it waited in several groups."""
    groups = {found["name"] for _, hit in process.hits if (found := _GROUP.search(hit.text)) is not None}
    if len(groups) > 1 or process.rank is None:
        return None
    for scan, hit in process.hits:
        found = _WORK.search(hit.text) if hit.signature == SIGNATURE else None
        if found is None or found["op"] in _ALONE:
            continue
        quote = Quote(text=hit.text, path=scan.file.name, line=hit.line, rank=process.rank)
        return _one(found, process.rank, next(iter(groups), ""), quote)
    return None
