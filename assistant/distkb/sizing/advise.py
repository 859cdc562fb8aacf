"""Which strategy to start from: the one that sends the least among those that fit."""

from __future__ import annotations

from dataclasses import dataclass, replace

from distkb.sizing.shape import Shape
from distkb.sizing.strategies import Checkpointing, Strategy, Workload, listed, sharded, strategies

LADDER: tuple[tuple[str, bool], ...] = (
    ("ddp", False),
    ("fsdp2_hybrid", False),
    ("fsdp2", False),
    ("ddp", True),
    ("fsdp2_hybrid", True),
    ("fsdp2", True),
    ("zero2_offload", True),
    ("fsdp2_offload", True),
)
"""Strategy and activation checkpointing, in the order to try: each rung costs more time a step than the one before.

Sharding costs communication that overlaps with computing; checkpointing computes every layer's forward twice (about a
third more work), offloading waits for the bus and steps on the CPU."""

MOST_GPUS = 1 << 16


@dataclass(frozen=True)
class Advice:
    """The rows to compare and the one to start from."""

    shape: Shape
    run: Workload
    rows: tuple[Strategy, ...]
    chosen: Strategy | None
    """None where nothing fits."""
    checkpointing: bool
    """Whether the chosen one needs activation checkpointing, or was asked for with it."""
    enough: int | None
    """Where nothing fits without offloading: the smallest power of two of GPUs on which sharding with checkpointing
    does (without, where it was ruled out); None where no number helps, because the activations of one micro-batch alone
    are too large."""


def advise(shape: Shape, run: Workload) -> Advice:
    """Return all strategies for the run and the first rung that fits."""
    rows = tuple(strategies(shape, run))
    by_name = {row.name: row for row in rows}
    for name, checkpointing in ladder(run.checkpointing):
        row = by_name.get(name)
        if row is not None and fits(row, run, checkpointing=checkpointing):
            enough = run.gpus if row.host == 0 else _enough(shape, run)
            return Advice(shape, run, rows, row, checkpointing, enough)
    return Advice(shape, run, rows, None, run.checkpointing != "off", _enough(shape, run))


def ladder(checkpointing: Checkpointing) -> tuple[tuple[str, bool], ...]:
    """Return the rungs to try where activation checkpointing is left open, always on, or never."""
    if checkpointing == "auto":
        return LADDER
    return tuple(dict.fromkeys((name, checkpointing == "on") for name, _ in LADDER))


def choose(advice: Advice, name: str) -> Advice:
    """Return the advice with another strategy to start from; with checkpointing where it fits only so.

    Raises KeyError for a strategy that the run does not have.
    """
    row = {row.name: row for row in advice.rows}[name]
    asked = advice.run.checkpointing
    checkpointing = asked == "on" or (asked == "auto" and not fits(row, advice.run, checkpointing=False))
    return replace(advice, chosen=row, checkpointing=checkpointing)


def fits(row: Strategy, run: Workload, *, checkpointing: bool) -> bool:
    """Return whether a strategy fits on the GPU, and what it offloads in the node's main memory where that is known."""
    if run.host_memory is not None and row.host > run.host_memory * 0.9:
        return False
    return row.peak(checkpointing=checkpointing) <= run.gpu_memory


def _enough(shape: Shape, run: Workload) -> int | None:
    plan = listed(shape, run)
    gpus = max(2, run.gpus)
    while gpus <= MOST_GPUS:
        larger = replace(run, gpus=gpus, per_node=min(gpus, max(run.per_node, min(8, gpus))))
        if fits(sharded(plan, shape, larger), larger, checkpointing=run.checkpointing != "off"):
            return gpus
        gpus = 1 << gpus.bit_length()
    return None
