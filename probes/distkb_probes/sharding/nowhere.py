"""Keeps tensors on the meta device, whatever device a script asks for, and remembers the few values it reads."""

# ruff: noqa: SLF001 - values ride on the tensors they belong to
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

SMALL = 1 << 16
"""Elements up to which a computed range is also kept with its values."""

_RESHAPES = ("view", "reshape", "transpose", "permute", "flatten", "contiguous", "detach", "t", "movedim", "squeeze")


@contextmanager
def nowhere() -> Iterator[None]:
    """Build everything on meta: it costs no memory.

    An explicit `device="cpu"` is respected, other devices are not. Ranges that models are configured from (`linspace`,
    `arange`, `tensor`: the drop-path rates of a vision transformer) can be read with `.item()` and `.tolist()`.
    """
    import torch

    meta = torch.device("meta")
    with meta, _mode(meta)():
        yield


def known_value(item: Any, otherwise: Any = ...) -> Any:
    """Return the values that a range was made with, on the CPU; `otherwise` (`item` itself) where none are known."""
    return getattr(item, "_distkb_value", item if otherwise is ... else otherwise)


def _mode(meta: Any) -> Callable[[], Any]:
    import torch
    from torch.overrides import TorchFunctionMode

    tensor = torch.Tensor
    ranges = {torch.linspace, torch.arange, torch.tensor, torch.logspace, torch.as_tensor}
    readers = {tensor.item, tensor.tolist, tensor.__float__, tensor.__int__, tensor.__bool__, tensor.numpy}
    parts = {tensor.__getitem__, tensor.unbind, torch.unbind, tensor.__iter__, tensor.T.__get__}  # type: ignore[attr-defined]
    parts |= {getattr(owner, name) for owner in (tensor, torch) for name in _RESHAPES if hasattr(owner, name)}
    moves = {tensor.cpu, tensor.pin_memory}

    class Stay(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
        ) -> Any:
            named = dict(kwargs or {})
            first = args[0] if args else None
            if func is tensor.to:
                args = (first, *(meta if _is_place(item) and not _is_cpu(item, first) else item for item in args[1:]))
            elif func is tensor.cuda and isinstance(first, tensor):
                return tensor.to(first, meta)
            if isinstance(first, tensor) and first.is_meta:
                if func in moves:
                    return first
                known = known_value(first, None)
                if known is not None and func in readers:
                    return func(known)
                if known is not None and func in parts:
                    return _parts(func, known, args)
            place = named.get("device")
            if place is not None and not _is_cpu(place, first):
                named["device"] = meta
            out = func(*args, **named)
            if func in ranges and isinstance(out, tensor) and out.is_meta and out.numel() <= SMALL:
                _remember(out, func, args, named)
            return out

    def _remember(out: Any, func: Any, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        if any(isinstance(item, tensor) for item in args):
            return
        with torch._C.DisableTorchFunctionSubclass():
            out._distkb_value = func(*args, **{**named, "device": "cpu"})

    def _parts(func: Any, known: Any, args: tuple[Any, ...]) -> Any:
        with torch._C.DisableTorchFunctionSubclass():
            found = func(known, *args[1:])
        if isinstance(found, tensor):
            return _as_meta(found)
        return type(found)(map(_as_meta, found)) if isinstance(found, (tuple, list)) else iter(map(_as_meta, found))

    def _as_meta(known: Any) -> Any:
        out: Any = torch.empty_like(known, device=meta)
        out._distkb_value = known
        return out

    return Stay


def _is_place(item: Any) -> bool:
    import torch

    if isinstance(item, torch.device):
        return True
    return isinstance(item, (str, int)) and not isinstance(item, bool)


def _is_cpu(place: Any, like: Any) -> bool:
    """Whether a tensor may be made in real memory: asked for on the CPU, and not in the likeness of a meta tensor."""
    import torch

    if isinstance(like, torch.Tensor) and like.is_meta:
        return False
    return str(place).partition(":")[0] == "cpu"
