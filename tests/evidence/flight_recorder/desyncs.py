"""Dumps of small jobs in which one thing is wrong, and what must be said about each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from recorder_dumps import dump, entry, torch_pickle

Dumps = dict[int, dict[str, Any]]
World = {"0": ("default_pg", range(4))}


class Case(NamedTuple):
    """One job: its dumps, the finding, the ranks it names, and what torch's analyser calls the mismatch."""

    name: str
    dumps: Dumps
    finding: str
    culprits: str
    torch_says: str | None
    """Name of the MatchState, or `missing`; None where torch's analyser fails or names the wrong ranks."""


def job(steps: Callable[[int], Sequence[dict[str, Any]]], ranks: Sequence[int] = range(4), groups: Any = None) -> Dumps:
    """Return a dump for each rank: `steps` gives its entries."""
    return {rank: dump(steps(rank), groups or World) for rank in ranks}


def write(folder: Path, dumps: Dumps, prefix: str = "nccl_trace_rank_") -> list[Path]:
    """Write the dumps in a folder and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for rank, document in dumps.items():
        path = folder / f"{prefix}{rank}"
        path.write_bytes(torch_pickle(document))
        paths.append(path)
    return paths


def common(count: int = 3, *, last: str = "completed") -> list[dict[str, Any]]:
    """Return collectives that every rank calls alike."""
    return [entry(seq=i + 1, record=i, state="completed" if i < count - 1 else last) for i in range(count)]


def behind(rank: int) -> list[dict[str, Any]]:
    """Rank 3 never calls the last all_reduce."""
    return common(2) if rank == 3 else common(3, last="started")


def two_behind(rank: int) -> list[dict[str, Any]]:
    """Ranks 1 and 3 never call the last all_reduce."""
    return common(2) if rank in (1, 3) else common(3, last="started")


def other_op(rank: int) -> list[dict[str, Any]]:
    """Rank 2 calls broadcast where the others call all_reduce."""
    op, at = ("broadcast", "/app/utils.py:88") if rank == 2 else ("all_reduce", "/app/train.py:150")
    return [*common(2), entry(op, seq=3, record=2, state="started", at=at)]


def first_rank_differs(rank: int) -> list[dict[str, Any]]:
    """Rank 0 calls broadcast where the others call all_reduce."""
    op = "broadcast" if rank == 0 else "all_reduce"
    return [*common(2), entry(op, seq=3, record=2, state="started")]


def other_shape(rank: int) -> list[dict[str, Any]]:
    """Rank 1 reduces another shape."""
    return [*common(2), entry(seq=3, record=2, state="started", sizes=((5 if rank == 1 else 6, 2),))]


def other_dtype(rank: int) -> list[dict[str, Any]]:
    """Rank 2 reduces another dtype."""
    dtype = "BFloat16" if rank == 2 else "Float"
    return [*common(2), entry(seq=3, record=2, state="started", dtypes=(dtype,))]


def uneven_gather(rank: int) -> list[dict[str, Any]]:
    """Rank 3 gathers from another input size."""
    part = 9 if rank == 3 else 8
    return [
        *common(2),
        entry("_all_gather_base", seq=3, record=2, state="started", sizes=((part,),), out=((part * 4,),)),
    ]


def one_completed(rank: int) -> list[dict[str, Any]]:
    """All call the same; on rank 3 it is not complete."""
    return common(3, last="started" if rank == 3 else "completed")


def in_subgroup(rank: int) -> list[dict[str, Any]]:
    """In the group of ranks 2 and 3 rank 3 stays away; the group of 0 and 1 is fine."""
    group = ("1", "mesh_tp") if rank < 2 else ("2", "mesh_tp")
    own = [entry(seq=i + 1, record=2 + i, group=group, at="/app/tp.py:7") for i in range(2)]
    if rank == 2:
        own.append(entry(seq=3, record=4, group=group, state="started", at="/app/tp.py:9"))
    return [*common(2), *own]


SUBGROUPS = {**World, "1": ("mesh_tp", (0, 1)), "2": ("mesh_tp", (2, 3))}


def crossed(rank: int) -> list[dict[str, Any]]:
    """Ranks 0 and 1 come to group a first, ranks 2 and 3 to group b."""
    first = ("1", "a") if rank < 2 else ("2", "b")
    return [*common(2), entry(seq=1, record=2, group=first, state="started", at=f"/app/{first[1]}.py:5")]


def crossed_launches(rank: int) -> list[dict[str, Any]]:
    """All ranks call both groups without waiting, in two orders: each GPU is in another one."""
    first, second = (("1", "a"), ("2", "b")) if rank < 2 else (("2", "b"), ("1", "a"))
    return [
        *common(2),
        entry(seq=1, record=2, group=first, state="started"),
        entry(seq=1, record=3, group=second, state="scheduled"),
    ]


CROSSED = {**World, "1": ("a", range(4)), "2": ("b", range(4))}


def never(rank: int) -> list[dict[str, Any]]:
    """Rank 0 alone calls a barrier in a group of its own."""
    if rank:
        return common(2)
    return [*common(2), entry("barrier", seq=1, record=2, group=("1", "gate"), state="started", at="/app/save.py:12")]


NEVER = {**World, "1": ("gate", range(4))}


def ring_wrapped(rank: int) -> list[dict[str, Any]]:
    """The ring buffers begin at other numbers; rank 3 stays behind."""
    start = 100 + rank
    stop = 150 if rank == 3 else 151
    return [
        entry(seq=seq, record=seq - 1, state="started" if seq == 150 else "completed") for seq in range(start, stop)
    ]


def per_rank_sizes(rank: int) -> list[dict[str, Any]]:
    """all_to_all takes other shapes on every rank; rank 1 then stays behind."""
    calls = [*common(1), entry("all_to_all", seq=2, record=1, sizes=((rank + 1, 4),), out=((5, 2),))]
    return calls if rank == 1 else [*calls, entry(seq=3, record=2, state="started")]


def uneven_exchange(rank: int) -> list[dict[str, Any]]:
    """Together the ranks send 40 elements and receive 44, of which rank 2 expects 14 and all others 10."""
    out = 14 if rank == 2 else 10
    return [*common(1), entry("all_to_all", seq=2, record=1, sizes=((rank + 1, 4),), out=((out,),), state="started")]


CASES = [
    Case("behind", job(behind), "flight-recorder.rank-behind", "3", "missing"),
    Case("two-behind", job(two_behind), "flight-recorder.rank-behind", "1, 3", "missing"),
    Case("other-op", job(other_op), "flight-recorder.ranks-called-different-ops", "2", "COLLECTIVE_TYPE_MISMATCH"),
    Case("first-differs", job(first_rank_differs), "flight-recorder.ranks-called-different-ops", "0", None),
    Case("other-shape", job(other_shape), "flight-recorder.shape-mismatch", "1", "SIZE_OR_SYNTAX_MISMATCH"),
    Case("other-dtype", job(other_dtype), "flight-recorder.dtype-mismatch", "2", "COLLECTIVE_DTYPE_MISMATCH"),
    Case("uneven-gather", job(uneven_gather), "flight-recorder.shape-mismatch", "3", "SIZE_OR_SYNTAX_MISMATCH"),
    Case(
        "one-completed", job(one_completed), "flight-recorder.still-running-on-device", "3", "COLLECTIVE_STATE_MISMATCH"
    ),
    Case("in-subgroup", job(in_subgroup, groups=SUBGROUPS), "flight-recorder.rank-behind", "3", "missing"),
    Case("never", job(never, groups=NEVER), "flight-recorder.never-scheduled-on-rank", "1-3", "missing"),
    Case("crossed", job(crossed, groups=CROSSED), "flight-recorder.cross-group-wait", "2, 3", None),
    Case("launches", job(crossed_launches, groups=CROSSED), "flight-recorder.cross-group-wait", "2, 3", None),
    Case("ring-wrapped", job(ring_wrapped), "flight-recorder.rank-behind", "3", "missing"),
    Case("uneven-exchange", job(uneven_exchange), "flight-recorder.shape-mismatch", "2", None),
    Case("per-rank-sizes", job(per_rank_sizes), "flight-recorder.rank-behind", "1", "missing"),
]
