"""Latency and bandwidth of collectives by the definitions of nccl-tests."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

TIMED = ("all_reduce", "all_gather", "reduce_scatter", "broadcast")
_BYTES = 4
_SMALL = 64 << 10
_SAMPLES, _FEW_SAMPLES, _MOST_BATCH = 7, 3, 20


def bus_factor(op: str, world: int) -> float:
    """Return what turns algorithm bandwidth into bus bandwidth for `world` ranks.

    all_reduce 2(n-1)/n, all_gather and reduce_scatter (n-1)/n, broadcast 1: NVIDIA/nccl-tests, doc/PERFORMANCE.md.
    Raises KeyError for another operation.
    """
    share = (world - 1) / world
    return {"all_reduce": 2 * share, "all_gather": share, "reduce_scatter": share, "broadcast": 1.0}[op]


def bandwidth(op: str, size: int, seconds: float, world: int) -> tuple[float, float]:
    """Return algorithm and bus bandwidth in GB/s (1e9 bytes): size / time, and that times `bus_factor`.

    `size` is the whole array in bytes: for all_gather the gathered one, for reduce_scatter the one before the scatter,
    as nccl-tests counts it.
    """
    algorithm = size / seconds / 1e9
    return algorithm, algorithm * bus_factor(op, world)


def sizes(least: int, most: int) -> Iterator[int]:
    """Yield the sizes to measure, in bytes: steep steps while latency rules, then by fours up to `most`."""
    size = max(_BYTES, least // _BYTES * _BYTES)
    while size <= most:
        yield size
        size *= 16 if size * 16 <= _SMALL else 4


@dataclass(frozen=True)
class Point:
    """One measurement: the slowest rank's median time of one operation on one size."""

    bytes: int
    op: str
    time_us: float
    algbw_gbs: float
    busbw_gbs: float


class Bench:
    """Measures collectives; every rank takes the same decisions, because they rest on times that all agreed on."""

    def __init__(self, dist: Any, torch: Any, device: Any, world: int, mark: Callable[[str], None]) -> None:
        self._dist, self._torch, self._device = dist, torch, device
        self._world = world
        self._mark = mark
        self._gather = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
        self._scatter = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
        self._tick = torch.zeros(1, device=device)

    def measure(self, sizes: Sequence[int], ops: Sequence[str], budget_s: float) -> list[Point]:
        """Measure `ops` over `sizes`, ascending, until about `budget_s` seconds are used; all_reduce has half of it."""
        points: list[Point] = []
        for op in ops:
            left = budget_s * (0.5 if op == "all_reduce" else 0.5 / max(1, len(ops) - 1))
            for size in sizes:
                if op in ("all_gather", "reduce_scatter") and size < _BYTES * self._world:
                    continue
                self._mark(f"{op} {size}")
                used, point = self._point(op, size, left)
                left -= used
                if point is None:
                    break
                points.append(point)
        return points

    def _point(self, op: str, size: int, left: float) -> tuple[float, Point | None]:
        """Return the seconds that it took, as all ranks agree, and the measurement; None where `left` is too short."""
        began = time.perf_counter()
        count = size // _BYTES
        if op in ("all_gather", "reduce_scatter"):
            count -= count % self._world
        call = self._call(op, count)
        call()
        self._meet()
        estimate, used = self._slowest([self._time(call, 1), time.perf_counter() - began])
        samples = _SAMPLES if estimate * _SAMPLES < left / 4 else _FEW_SAMPLES
        batch = max(1, min(_MOST_BATCH, int(1e-3 / max(estimate, 1e-7))))
        if used + estimate * samples * batch > left:
            return used, None
        times = [self._sample(call, batch) for _ in range(samples)]
        *times, used = self._slowest([*times, time.perf_counter() - began])
        seconds = max(statistics.median(times), 1e-9)
        algorithm, bus = bandwidth(op, count * _BYTES, seconds, self._world)
        return used, Point(size, op, round(seconds * 1e6, 2), round(algorithm, 4), round(bus, 4))

    def _call(self, op: str, count: int) -> Callable[[], object]:
        dist = self._dist
        whole = self._torch.ones(count, device=self._device)
        if op == "all_reduce":
            return lambda: dist.all_reduce(whole)
        if op == "broadcast":
            return lambda: dist.broadcast(whole, src=0)
        part = self._torch.ones(count // self._world, device=self._device)
        if op == "all_gather":
            return lambda: self._gather(whole, part)
        return lambda: self._scatter(part, whole)

    def _sample(self, call: Callable[[], object], batch: int) -> float:
        self._meet()
        return self._time(call, batch)

    def _time(self, call: Callable[[], object], batch: int) -> float:
        began = time.perf_counter()
        for _ in range(batch):
            call()
        self._sync()
        return (time.perf_counter() - began) / batch

    def _meet(self) -> None:
        """Start together: an all_reduce that every rank has finished."""
        self._dist.all_reduce(self._tick)
        self._tick.zero_()
        self._sync()

    def _sync(self) -> None:
        if self._device.type == "cuda":
            self._torch.cuda.synchronize(self._device)

    def _slowest(self, seconds: Sequence[float]) -> list[float]:
        """Return each time as the slowest rank measured it."""
        times = self._torch.tensor(seconds, dtype=self._torch.float64, device=self._device)
        self._dist.all_reduce(times, op=self._dist.ReduceOp.MAX)
        return [float(value) for value in times.tolist()]

    def entries(self, rounds: int) -> list[list[float]]:
        """Return, round by round, how long each rank took for the same piece of local work, in seconds.

        A rank that is throttled, swapped out or short of a core enters every collective late by this much.
        """
        gpu = self._device.type == "cuda"
        # A few milliseconds of work: less would be lost in the noise of starting it.
        work = self._torch.ones((4096, 4096) if gpu else (1 << 19,), device=self._device)
        mine = []
        for _ in range(rounds + 1):
            self._meet()
            began = time.perf_counter()
            for _ in range(1 if gpu else 4):
                _ = work @ work if gpu else work.mul_(1.0)
            self._sync()
            mine.append(time.perf_counter() - began)
        ours = self._torch.tensor(mine[1:], dtype=self._torch.float64, device=self._device)
        every = [self._torch.empty_like(ours) for _ in range(self._world)]
        self._dist.all_gather(every, ours)
        return [list(row) for row in zip(*(times.tolist() for times in every), strict=True)]


SLOW, SLOW_SHARE, SLOW_SECONDS = 3.0, 0.8, 0.005
"""A rank is slow when it takes 3 times as long as the others' median, in 4 of 5 rounds, and 5 ms longer: less happens
on any busy machine."""


def slow_rank(rounds: Sequence[Sequence[float]]) -> tuple[int, float] | None:
    """Return the one rank that is consistently slow and how many times slower it is, if there is one."""
    if not rounds or len(rounds[0]) < 2:
        return None
    ranks = range(len(rounds[0]))
    for rank in ranks:
        late = []
        for row in rounds:
            others = statistics.median(row[other] for other in ranks if other != rank)
            late.append(row[rank] >= SLOW * others and row[rank] - others >= SLOW_SECONDS)
        if sum(late) >= SLOW_SHARE * len(rounds):
            mine = statistics.median(row[rank] for row in rounds)
            others = statistics.median(row[other] for row in rounds for other in ranks if other != rank)
            return rank, mine / max(others, 1e-9)
    return None
