"""Collectives on values that show whose contribution is wrong or missing."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

BLOCK = 16
"""Elements of each rank's block."""
_UNSUPPORTED = r"(?i)does not support|not supported|unsupported|not implemented|no backend type associated"


@dataclass(frozen=True)
class Wrong:
    """A result that is not what it must be."""

    contributor: int
    """The rank whose block is wrong in the result."""
    expected: int
    got: int


@dataclass(frozen=True)
class Group:
    """What a collective needs to know. Every rank owns one block of the array, in which the others have nothing."""

    torch: Any
    dist: Any
    device: Any
    rank: int
    world: int
    store: Any
    """For the barrier's check: a key-value store that all ranks share."""

    def blocks(self, empty: int, *, base: int = 1) -> Any:
        """Return an array that holds this rank's number in its own block and `empty` elsewhere."""
        array = self.torch.full((self.world * BLOCK,), empty, dtype=self.torch.int64, device=self.device)
        array[self.rank * BLOCK : (self.rank + 1) * BLOCK] = base + self.rank
        return array

    def check(self, array: Any, *, base: int = 1) -> list[Wrong]:
        """Return the blocks that do not hold their owner's number."""
        values = array.cpu().tolist()
        found = []
        for owner in range(self.world):
            block = values[owner * BLOCK : (owner + 1) * BLOCK]
            bad = [value for value in block if value != base + owner]
            if bad:
                found.append(Wrong(owner, base + owner, bad[0]))
        return found


def _all_reduce_sum(group: Group) -> list[Wrong]:
    array = group.blocks(0)
    group.dist.all_reduce(array, op=group.dist.ReduceOp.SUM)
    return group.check(array)


def _all_reduce_max(group: Group) -> list[Wrong]:
    array = group.blocks(-1)
    group.dist.all_reduce(array, op=group.dist.ReduceOp.MAX)
    return group.check(array)


def _broadcast(group: Group) -> list[Wrong]:
    root = group.world - 1
    array = group.torch.full((BLOCK,), group.rank + 1, dtype=group.torch.int64, device=group.device)
    group.dist.broadcast(array, src=root)
    bad = [value for value in array.cpu().tolist() if value != root + 1]
    return [Wrong(root, root + 1, bad[0])] if bad else []


def _all_gather(group: Group) -> list[Wrong]:
    gather = getattr(group.dist, "all_gather_single", None) or group.dist.all_gather_into_tensor
    mine = group.torch.full((BLOCK,), group.rank + 1, dtype=group.torch.int64, device=group.device)
    array = group.torch.zeros(group.world * BLOCK, dtype=group.torch.int64, device=group.device)
    gather(array, mine)
    return group.check(array)


def _reduce_scatter(group: Group) -> list[Wrong]:
    """Every rank sends rank k an array of its own with base 1000 k, so that a shard on the wrong rank shows too."""
    scatter = getattr(group.dist, "reduce_scatter_single", None) or group.dist.reduce_scatter_tensor
    sent = [group.blocks(0, base=1000 * receiver + 1) for receiver in range(group.world)]
    array = group.torch.zeros(group.world * BLOCK, dtype=group.torch.int64, device=group.device)
    scatter(array, group.torch.cat(sent))
    return group.check(array, base=1000 * group.rank + 1)


def _barrier(group: Group) -> list[Wrong]:
    """Every rank leaves a key in the store before the barrier; behind it all keys must be there."""
    # `add` waits for the store's answer; `set` does not, and the barrier could be faster than the key.
    group.store.add(f"barrier/{group.rank}", 1)
    group.dist.barrier()
    return [Wrong(other, 1, 0) for other in range(group.world) if not group.store.check([f"barrier/{other}"])]


CHECKS: dict[str, Callable[[Group], list[Wrong]]] = {
    "all_reduce_sum": _all_reduce_sum,
    "all_reduce_max": _all_reduce_max,
    "broadcast": _broadcast,
    "all_gather": _all_gather,
    "reduce_scatter": _reduce_scatter,
    "barrier": _barrier,
}
"""Operation → a check that carries it out and returns what is wrong with the result on this rank."""


def attempt(name: str, group: Group) -> list[Wrong] | None:
    """Carry out a check; None where the backend does not have the operation. Other errors are raised."""
    try:
        return CHECKS[name](group)
    except (RuntimeError, NotImplementedError, ValueError) as problem:
        if re.search(_UNSUPPORTED, str(problem)):
            return None
        raise
