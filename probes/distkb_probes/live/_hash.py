"""Exact checksums of tensors, computed where the tensor lies, with bounded scratch memory.

The checksum is the sum, modulo 2**64, of the tensor's 32-bit words, each times an odd pseudo-random weight of its
position. Integer sums do not depend on the order of summation, so equal bytes give equal checksums on every device and
with any number of threads. No random number generator is used, no gradient is recorded, nothing is written to.
"""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

CHUNK = 1 << 20
"""32-bit words taken at a time: 8 MiB of scratch on the tensor's device, and 8 MiB of weights."""
_MASK = (1 << 64) - 1
_STEP = 0x9E3779B97F4A7C15
_MIX = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
"""Constants of SplitMix64 (Steele, Lea, Flood 2014), here only to spread the positions."""


@dataclasses.dataclass
class Reading:
    """What was read of one tensor."""

    checksum: int | None = None
    """None where the bytes cannot be read (meta tensors, exotic subclasses) or time was over."""
    finite: bool | None = None
    norm: float | None = None


class Reader:
    """Reads many tensors; the values come to the host once, at the end."""

    def __init__(self, deadline: float, *, norms: bool = False) -> None:
        self.deadline = deadline
        self.norms = norms
        self.in_time = True
        self._weights: dict[Any, torch.Tensor] = {}
        self._jobs: list[tuple[Reading, list[torch.Tensor], torch.Tensor | None, torch.Tensor | None, int]] = []

    def read(self, tensor: torch.Tensor) -> Reading:
        """Begin to read a plain tensor. The result is filled in by `finish`."""
        import torch

        reading = Reading()
        if time.monotonic() > self.deadline:
            self.in_time = False
            return reading
        if tensor.device.type == "meta" or type(tensor).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
            return reading  # a subclass that is not simply its bytes
        with torch.no_grad():
            try:
                plain = tensor.detach().as_subclass(torch.Tensor)
                flat = plain.contiguous().view(-1)
                sums = self._sums(flat)
                self._jobs.append((reading, sums, *self._range_and_norm(flat), plain.numel() * plain.element_size()))
            except (RuntimeError, TypeError, ValueError, NotImplementedError):
                return reading  # cannot be viewed as bytes, is not initialised yet, or no scratch memory is left
        return reading

    def finish(self) -> None:
        """Bring the values of all tensors to the host and fill in the readings."""
        import torch

        with torch.no_grad():
            sums = _to_host([part for job in self._jobs for part in job[1]])
            finite = _to_host([job[2] for job in self._jobs if job[2] is not None])
            norms = _to_host([job[3] for job in self._jobs if job[3] is not None])
        for reading, parts, bad, norm, size in self._jobs:
            total = size
            for _ in parts:
                total = (total * _STEP + int(next(sums))) & _MASK
            reading.checksum = total
            if bad is not None:
                reading.finite = bool(next(finite))
            if norm is not None:
                reading.norm = float(next(norms))
        self._jobs.clear()
        self._weights.clear()

    def _sums(self, flat: torch.Tensor) -> list[torch.Tensor]:
        import torch

        data = flat.view(torch.uint8) if flat.numel() else flat.new_empty(0, dtype=torch.uint8)
        weights = self._weight(data.device)
        whole = data.numel() // 4 * 4
        sums = []
        for start in range(0, whole, 4 * CHUNK):
            piece = data[start : min(whole, start + 4 * CHUNK)]
            words = (piece if piece.storage_offset() % 4 == 0 else piece.clone()).view(torch.int32)
            sums.append((words * weights[: words.numel()]).sum())
        if whole < data.numel():
            sums.append((data[whole:] * weights[: data.numel() - whole]).sum())
        return sums

    def _weight(self, device: torch.device) -> torch.Tensor:
        import torch

        if device not in self._weights:
            mixed = torch.arange(1, CHUNK + 1, dtype=torch.int64, device=device) * _signed(_STEP)
            for shift, factor in zip((30, 27), _MIX, strict=True):
                mixed = (mixed ^ (mixed >> shift)) * _signed(factor)
            self._weights[device] = mixed | 1
        return self._weights[device]

    def _range_and_norm(self, flat: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor | None]:
        """Return whether all values are finite (NaN and infinities show in the smallest or largest), and the norm."""
        import torch

        values = torch.view_as_real(flat).view(-1) if flat.is_complex() else flat
        if not values.is_floating_point() or not values.numel():
            return None, None
        if values.element_size() == 1:
            values = values.float()
        low, high = torch.aminmax(values)
        norm = torch.linalg.vector_norm(values, dtype=_wide(values.dtype)) if self.norms else None
        return torch.isfinite(low) & torch.isfinite(high), norm


def _wide(dtype: torch.dtype) -> torch.dtype:
    import torch

    return torch.float64 if dtype == torch.float64 else torch.float32


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _to_host(scalars: list[torch.Tensor]) -> Any:
    """Yield the values of scalars in order, with one transfer per device and dtype."""
    import torch

    by_kind: dict[Any, list[int]] = {}
    for index, scalar in enumerate(scalars):
        by_kind.setdefault((scalar.device, scalar.dtype), []).append(index)
    values: list[Any] = [None] * len(scalars)
    for indices in by_kind.values():
        for index, value in zip(indices, torch.stack([scalars[at] for at in indices]).tolist(), strict=True):
            values[index] = value
    return iter(values)
