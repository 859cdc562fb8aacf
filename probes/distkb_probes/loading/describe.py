"""Describes one rank's loader: settings, sampler, and the samples that it would read."""

from __future__ import annotations

import hashlib
import inspect
import itertools
import sys
import time
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from distkb_probes.loading.content import one_key, sample_keys

MOST_SAMPLES = 1_000_000
"""Indices of one rank and epoch that are looked at."""
_FIRST = 4
"""Samples whose content is compared between the ranks."""
_SETTINGS = ("batch_size", "drop_last", "num_workers", "persistent_workers", "prefetch_factor", "pin_memory", "timeout")


class Limits:
    """How much may be read: batches of a stream, and the end on the clock of `time.monotonic`."""

    def __init__(self, epochs: int, batches: int, end: float) -> None:
        self.epochs, self.batches, self.end = epochs, batches, end

    def over(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() > self.end


def pick(returned: Any) -> Any:
    """Return the loader in what the callable returned: itself, the first of several, or the one called `train`."""
    if isinstance(returned, dict):
        named = [value for name, value in returned.items() if "train" in str(name).lower()]
        return next(iter([*named, *returned.values()]), returned)
    if isinstance(returned, (tuple, list)):
        return next((item for item in returned if _is_loader(item)), returned)
    return returned


def _is_loader(value: Any) -> bool:
    return hasattr(value, "dataset") and hasattr(value, "__iter__")


def is_loader(value: Any) -> bool:
    """Whether a value can be looked at: a DataLoader, or something else that yields batches."""
    return _is_loader(value) or (hasattr(value, "__iter__") and not isinstance(value, (str, bytes, dict, list, tuple)))


def describe(loader: Any, limits: Limits) -> tuple[dict[str, Any], array[int]]:
    """Return the facts of a loader, and the keys of the samples of its first epoch in their order."""
    facts = _settings(loader)
    by_index = facts["kind"] == "index"
    epochs: list[dict[str, Any]] = []
    first = array("q")
    for number in range(limits.epochs):
        keys = array("q")
        batches = _index_batches(loader) if by_index else _content_batches(loader)
        epochs.append(_epoch(batches, keys, limits, by_index=by_index))
        first = keys if number == 0 else first
        if limits.over():
            break
    facts["epochs"] = epochs
    facts["content"] = None if limits.over() or not by_index else _content(loader)
    facts["set_epoch_changes"] = _set_epoch_changes(loader, facts, epochs, limits) if by_index else None
    return facts, first


def _settings(loader: Any) -> dict[str, Any]:
    from torch.utils import data

    dataset = getattr(loader, "dataset", None)
    is_torch = isinstance(loader, data.DataLoader)
    stream = isinstance(dataset, data.IterableDataset) or not is_torch
    own = is_torch and type(loader).__iter__ is not data.DataLoader.__iter__
    sampler, batch_sampler = getattr(loader, "sampler", None), getattr(loader, "batch_sampler", None)
    told = _innermost(batch_sampler, sampler)
    return {
        "class": _name(loader),
        "dataset": _name(dataset),
        "dataset_len": _length(dataset),
        "len": _length(loader),
        "kind": "content" if stream else "index",
        "own_iter": own,
        **{name: _plain(getattr(loader, name, None)) for name in _SETTINGS},
        "batch_sampler": None if stream else _name(batch_sampler),
        "sampler": None if stream else _name(told),
        "distributed": hasattr(told, "num_replicas"),
        "replicas": _plain(getattr(told, "num_replicas", None)),
        "sampler_rank": _plain(getattr(told, "rank", None)),
        "shuffle": _plain(getattr(told, "shuffle", None)),
        "seed": _plain(getattr(told, "seed", None)),
        "replacement": bool(getattr(told, "replacement", False)),
        "set_epoch": hasattr(told, "set_epoch") or hasattr(dataset, "set_epoch"),
        "batch_size_of_sampler": _plain(getattr(batch_sampler, "batch_size", None)),
    }


def _innermost(batch_sampler: Any, sampler: Any) -> Any:
    """Return the sampler that decides: the one inside a batch sampler, else the loader's own."""
    found = batch_sampler
    for _ in range(5):
        inner = next((getattr(found, name) for name in ("sampler", "batch_sampler") if hasattr(found, name)), None)
        if inner is None:
            break
        if hasattr(found, "num_replicas"):
            return found
        found = inner
    return sampler if found is None else found


def _name(value: Any) -> str | None:
    return None if value is None else type(value).__name__


def _length(value: Any) -> int | None:
    try:
        return len(value)
    except (TypeError, NotImplementedError, AttributeError):
        return None


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)[:80]


def _index_batches(loader: Any) -> Iterator[list[Any]]:
    if loader.batch_sampler is not None:
        for batch in loader.batch_sampler:
            yield list(batch)
    else:
        for index in loader.sampler:
            yield [index]


def _content_batches(loader: Any) -> Iterator[Any]:
    yield from loader


def _epoch(batches: Iterable[Any], keys: array[int], limits: Limits, *, by_index: bool) -> dict[str, Any]:
    """Go through one epoch as far as the limits allow."""
    sizes: Counter[int] = Counter()
    order = hashlib.blake2b(digest_size=8)
    count, complete = 0, True
    for batch in batches:
        if limits.over() or (not by_index and count >= limits.batches) or len(keys) >= MOST_SAMPLES:
            complete = False
            break
        count += 1
        found = [_index_key(item) for item in batch] if by_index else sample_keys(batch)
        sizes[len(found)] += 1
        chunk = array("q", found)
        order.update(chunk.tobytes())
        keys.extend(chunk)
    return {
        "batches": count,
        "samples": len(keys),
        "complete": complete,
        "sizes": {str(size): times for size, times in sizes.most_common(4)},
        "largest": max(sizes, default=0),
        "order": order.hexdigest(),
    }


def _index_key(item: Any) -> int:
    if isinstance(item, int) and 0 <= item < 1 << 62:
        return item
    if hasattr(item, "item"):
        return int(item.item())
    return int.from_bytes(hashlib.blake2b(repr(item).encode(), digest_size=8).digest(), "big") >> 1


def _content(loader: Any) -> list[str] | None:
    """Return keys of the dataset's first samples; None where reading the same one twice gives two things.

    The ranks seed alike before each read, so that random augmentation does not make equal samples differ.
    """
    try:
        twice = [[_seeded_key(loader.dataset, index) for index in range(_FIRST)] for _ in range(2)]
    except Exception:  # noqa: BLE001 - too short, or a dataset that is not read by number
        return None
    return twice[0] if twice[0] == twice[1] else None


def _seeded_key(dataset: Any, index: int) -> str:
    import random

    import torch

    torch.manual_seed(0)
    random.seed(0)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(0)
    return f"{one_key(dataset[index]):x}"


def _set_epoch_changes(loader: Any, facts: dict[str, Any], epochs: list[dict[str, Any]], limits: Limits) -> bool | None:
    """Whether the sampler's order follows set_epoch; None where it has none or there is no time."""
    sampler = _innermost(loader.batch_sampler, loader.sampler)
    if not hasattr(sampler, "set_epoch") or not facts["shuffle"] or limits.over() or not epochs:
        return None
    orders = {epochs[0]["order"]}
    for number in (1, 2):
        sampler.set_epoch(number)
        orders.add(_epoch(_index_batches(loader), array("q"), limits, by_index=True)["order"])
    return len(orders) > 1


def mentions_set_epoch(function: Any) -> bool:
    """Whether the file that defines the callable calls set_epoch somewhere."""
    try:
        path = inspect.getsourcefile(inspect.unwrap(function))
        if path is None:
            return False
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - a path as inspect gives it
            return any("set_epoch" in line for line in itertools.islice(file, 20_000))
    except (OSError, TypeError):
        return False
