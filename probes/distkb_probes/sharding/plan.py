"""What a sharded model consists of, as plain data: parameters, the units that gather them, and the whole."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Api = Literal["fsdp1", "fsdp2", "none"]

ITEM_BYTES = {
    "float64": 8,
    "int64": 8,
    "float32": 4,
    "int32": 4,
    "bfloat16": 2,
    "float16": 2,
    "int16": 2,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "int8": 1,
    "uint8": 1,
    "bool": 1,
}
LOW_PRECISION = ("bfloat16", "float16")


@dataclass(frozen=True)
class Param:
    """One parameter as it was before it was sharded."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    trainable: bool = True
    device: str = "meta"
    also: tuple[str, ...] = ()
    """Other names of the same tensor."""

    @property
    def numel(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def item_bytes(self) -> int:
        """Bytes of one element."""
        return ITEM_BYTES.get(self.dtype, 4)

    @property
    def nbytes(self) -> int:
        """Bytes of the whole parameter in its own dtype."""
        return self.numel * self.item_bytes


@dataclass(frozen=True)
class Unit:
    """The parameters that one all-gather collects."""

    name: str
    """Name of the wrapped module; empty for the model itself."""
    kind: str
    """Class of the wrapped module."""
    params: tuple[Param, ...]
    root: bool = False
    """Whether no other unit is around it."""
    api: Api = "fsdp2"
    shard: int = 1
    """Ranks that hold one shard each."""
    replicate: int = 1
    """Groups of such ranks that hold the same shards."""
    strategy: str = ""
    """Name of the strategy it was built with."""
    reshard: bool = True
    """Whether the gathered parameters are freed after the forward. A root keeps them: the backward begins there."""
    param_dtype: str | None = None
    reduce_dtype: str | None = None
    buffer_dtype: str | None = None
    use_orig_params: bool = True
    offload: bool = False
    shard_ranks: tuple[int, ...] = ()
    """The ranks of this rank's shard group."""
    local_bytes: int | None = None
    """Bytes that rank 0 really stores for its shard, padding included."""
    local_numel: tuple[int, ...] = ()
    """Elements of each parameter that rank 0 owns, padding not counted; empty where it was not measured."""

    @property
    def numel(self) -> int:
        """Elements of all parameters."""
        return sum(param.numel for param in self.params)

    @property
    def nbytes(self) -> int:
        """Bytes of all parameters in their own dtypes."""
        return sum(param.nbytes for param in self.params)


@dataclass(frozen=True)
class Buffer:
    """A registered buffer; every rank holds all of it."""

    name: str
    numel: int
    dtype: str
    device: str = "meta"

    @property
    def nbytes(self) -> int:
        """Bytes of the buffer."""
        return self.numel * ITEM_BYTES.get(self.dtype, 4)


@dataclass(frozen=True)
class Plan:
    """A model as it is, or would be, sharded."""

    api: Api
    """What the callable itself applied."""
    units: tuple[Unit, ...]
    """In the order of the modules; the root first where there is one."""
    params: tuple[Param, ...]
    """Every parameter once."""
    buffers: tuple[Buffer, ...] = ()
    unmanaged: tuple[Param, ...] = ()
    """Parameters in no unit: whole on every rank."""
    ignored: tuple[Param, ...] = ()
    """Parameters in no unit because FSDP was told so."""
    broken_ties: tuple[tuple[str, ...], ...] = ()
    """Names that were one tensor before wrapping and are different ones after it."""
    blocks: tuple[str, ...] = ()
    """Classes whose instances are repeated: what units are usually made of."""
    block_names: tuple[str, ...] = ()
    """Names of their instances."""

    @property
    def root(self) -> Unit | None:
        """The unit around all others; None where several stand side by side."""
        roots = [unit for unit in self.units if unit.root]
        return roots[0] if len(roots) == 1 else None

    @property
    def numel(self) -> int:
        """Elements of all parameters."""
        return sum(param.numel for param in self.params)
