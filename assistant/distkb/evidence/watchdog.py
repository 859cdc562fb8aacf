"""What the NCCL watchdogs of several ranks say together: whether the ranks waited in the same collective."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from distkb.evidence.observation import Observation, Quote

if TYPE_CHECKING:
    from distkb.evidence.processes import Process, Run

SIGNATURE = "torch.nccl.watchdog-timeout"
FINDING = "flight-recorder.ranks-called-different-ops"
"""The watchdog's lines tell the same as the flight recorder's dump, for the one collective that timed out."""
UNSURE = 0.7
"""Certainty where old versions do not print the process group: sequence numbers count within a group."""

_GROUP = re.compile(r"\bPG (?:ID \d+ PG GUID )?\d+ ?\((?P<name>\w+)\)")
_WORK = re.compile(r"SeqNum=(?P<seq>\d+), OpType=(?P<op>\w+)(?:, NumelIn=(?P<numel>\d+))?")
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
    slots: dict[tuple[str, int], list[Waited]] = {}
    for process in run.ranked:
        if (one := _waited(process)) is not None:
            slots.setdefault((one.group, one.seq), []).append(one)
    for (group, _), members in slots.items():
        kinds: dict[tuple[str, str], Waited] = {}
        for one in members:
            kinds.setdefault((one.op, one.numel if one.op in _ONE_SIZE else ""), one)
        if len(kinds) > 1:
            quotes = tuple(one.quote for one in kinds.values())[:6]
            return Observation(id=FINDING, source="log", certainty=1.0 if group else UNSURE, quotes=quotes)
    return None


def _waited(process: Process) -> Waited | None:
    """The first collective that a rank's watchdog names; None where it waited in several groups."""
    groups = {found["name"] for _, hit in process.hits if (found := _GROUP.search(hit.text)) is not None}
    if len(groups) > 1 or process.rank is None:
        return None
    for scan, hit in process.hits:
        found = _WORK.search(hit.text) if hit.signature == SIGNATURE else None
        if found is None or found["op"] in _ALONE:
            continue
        return Waited(
            rank=process.rank,
            group=next(iter(groups), ""),
            seq=int(found["seq"]),
            op=found["op"],
            numel=found["numel"] or "",
            quote=Quote(text=hit.text, path=scan.file.name, line=hit.line, rank=process.rank),
        )
    return None
