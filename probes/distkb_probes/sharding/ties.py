"""Remembers which names were one tensor before FSDP replaced them: afterwards nothing tells."""

# ruff: noqa: SLF001 - a parameter's places are known to its modules only
from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Ties:
    """Every place that each parameter was registered at, seen before each wrapping call."""

    def __init__(self) -> None:
        self._places: dict[int, tuple[Any, set[tuple[int, str]], list[tuple[Any, str]]]] = {}

    def see(self, module: Any) -> None:
        """Note the parameters registered in a module's tree now."""
        for child in module.modules():
            for name, param in child._parameters.items():
                if param is None or hasattr(param, "placements") or getattr(param, "_is_flat_param", False):
                    continue
                # The parameter itself is kept, so that its id is not given to another one.
                _, seen, places = self._places.setdefault(id(param), (param, set(), []))
                if (id(child), name) not in seen:
                    seen.add((id(child), name))
                    places.append((child, name))

    def groups(self) -> list[list[tuple[Any, str]]]:
        """Return the places of each parameter that had more than one."""
        return [places for _, _, places in self._places.values() if len(places) > 1]


@contextmanager
def watching(ties: Ties) -> Iterator[None]:
    """See every module that `fully_shard` or FullyShardedDataParallel is given meanwhile.

    Enter before the user's module is imported: it may take the name `fully_shard` from torch.
    """
    from torch.distributed.fsdp import FullyShardedDataParallel

    undo: list[tuple[Any, str, Any]] = []

    def put(owner: Any, name: str, value: Any) -> None:
        undo.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)

    for owner in fully_shard_homes():
        put(owner, "fully_shard", _seeing(owner.fully_shard, ties))
    plain = FullyShardedDataParallel.__init__

    @functools.wraps(plain)
    def init(self: Any, module: Any, *args: Any, **kwargs: Any) -> None:
        ties.see(module)
        plain(self, module, *args, **kwargs)

    put(FullyShardedDataParallel, "__init__", init)
    try:
        yield
    finally:
        for owner, name, value in reversed(undo):
            setattr(owner, name, value)


def fully_shard_homes() -> list[Any]:
    """Return the modules that export `fully_shard`: torch.distributed.fsdp since 2.6, _composable.fsdp before."""
    found = []
    for name in ("torch.distributed.fsdp", "torch.distributed._composable.fsdp"):
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        if hasattr(module, "fully_shard"):
            found.append(module)
    return found


def _seeing(wrapped: Any, ties: Ties) -> Any:
    @functools.wraps(wrapped)
    def fully_shard(module: Any, *args: Any, **kwargs: Any) -> Any:
        for one in module if isinstance(module, (list, tuple)) else [module]:
            ties.see(one)
        return wrapped(module, *args, **kwargs)

    return fully_shard
