"""What the loaders of all ranks, side by side, say about the data: pure, on plain facts and sample keys."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

IDS = (
    "loader.build-failed",
    "loader.dataset-differs",
    "loader.lengths-differ",
    "loader.batches-uneven",
    "loader.length-wrong",
    "loader.empty",
    "loader.sampler-wrong-rank",
    "loader.seeds-differ",
    "loader.same-samples",
    "loader.stream-not-sharded",
    "loader.samples-overlap",
    "loader.samples-padded",
    "loader.samples-missing",
    "loader.divided-twice",
    "loader.workers-repeat",
    "loader.needs-set-epoch",
    "loader.set-epoch-ignored",
    "loader.batch-sizes-differ",
    "loader.settings-differ",
)
_SETTINGS = (
    "drop_last",
    "num_workers",
    "shuffle",
    "sampler",
    "batch_sampler",
    "class",
    "timeout",
    "persistent_workers",
)
_WHOLE = ("DistributedSampler", "SequentialSampler", "RandomSampler")
"""Samplers that are meant to leave nothing out."""
_SAME = 0.5
"""Share of samples on several ranks from which on nothing divides them."""

Facts = Mapping[str, Any]
Keys = Mapping[int, "array[int]"]


@dataclass(frozen=True)
class Found:
    """One finding with what fills its sentence."""

    id: str
    values: Mapping[str, str]


@dataclass(frozen=True)
class Counts:
    """How often samples are read in the first epoch."""

    distinct: Mapping[int, int]
    """Rank → different samples."""
    union: int
    shared: int
    """Samples that two ranks or more read."""


def judge(facts: Mapping[int, Facts], keys: Keys, world_size: int) -> tuple[list[Found], dict[str, Any]]:
    """Return the findings for the ranks' loaders, and the counts of samples as plain data."""
    counts = _count(keys)
    found = [*_lengths(facts), *_samplers(facts, world_size), *_settings(facts), *_order(facts)]
    if _divided_before(facts):
        # the same index is another sample on each rank, so that indices say nothing of what is read twice
        found += _twice(facts)
    else:
        found += _shared(facts, counts)
        found += _missing(facts, counts) if len(facts) == world_size else []
    found += _workers(facts, counts)
    summary = {
        "union": counts.union,
        "shared": counts.shared,
        "by_rank": {str(rank): {"distinct": number} for rank, number in counts.distinct.items()},
    }
    return found, summary


def by_value(values: Mapping[int, Any]) -> str:
    """Return `12 (rank 0, 1), 13 (rank 2)`: each value with the ranks that have it, the most frequent first."""
    groups: dict[str, list[int]] = {}
    for rank, value in values.items():
        groups.setdefault(str(value), []).append(rank)
    pieces = []
    for value, ranks in sorted(groups.items(), key=lambda item: -len(item[1]))[:4]:
        shown = ", ".join(map(str, ranks[:6])) + (", …" if len(ranks) > 6 else "")
        pieces.append(f"{value} (rank {shown})")
    return ", ".join(pieces)


def _count(keys: Keys) -> Counts:
    seen: Counter[int] = Counter()
    distinct: dict[int, int] = {}
    for rank, mine in keys.items():
        own = set(mine)
        distinct[rank] = len(own)
        seen.update(own)
    return Counts(distinct, len(seen), sum(1 for times in seen.values() if times > 1))


def _differ(values: Mapping[int, Any]) -> bool:
    return len({str(value) for value in values.values()}) > 1


def _lengths(facts: Mapping[int, Facts]) -> Iterator[Found]:
    datasets = {rank: item["dataset_len"] for rank, item in facts.items() if item["dataset_len"] is not None}
    lengths = {rank: item["len"] for rank, item in facts.items() if item["len"] is not None}
    batches = {rank: item["epochs"][0]["batches"] for rank, item in facts.items() if item["epochs"][0]["complete"]}
    divided = _divided_before(facts) and not any(item["distributed"] for item in facts.values())
    if _differ(datasets) and not divided:
        yield Found("loader.dataset-differs", {"lengths": by_value(datasets)})
    if _differ(lengths):
        yield Found("loader.lengths-differ", {"lengths": by_value(lengths)})
    elif _differ(batches) or _capped_differ(facts, batches):
        yield Found("loader.batches-uneven", {"batches": by_value(_with_capped(facts, batches))})
    wrong = {rank: count for rank, count in batches.items() if lengths.get(rank, count) != count}
    if wrong:
        rank = min(wrong)
        values = {"rank": str(rank), "length": str(lengths[rank]), "batches": str(wrong[rank])}
        yield Found("loader.length-wrong", values)
    empty = [rank for rank, count in batches.items() if count == 0]
    if empty:
        yield Found("loader.empty", {"ranks": ", ".join(map(str, empty[:8]))})


def _capped_differ(facts: Mapping[int, Facts], batches: Mapping[int, int]) -> bool:
    """Whether some ranks ended before the point to which others were read without ending."""
    capped = [item["epochs"][0]["batches"] for rank, item in facts.items() if rank not in batches]
    return bool(capped) and bool(batches) and min(batches.values()) < max(capped)


def _with_capped(facts: Mapping[int, Facts], batches: Mapping[int, int]) -> dict[int, str]:
    return {
        rank: str(batches[rank]) if rank in batches else f"≥ {item['epochs'][0]['batches']}"
        for rank, item in facts.items()
    }


def _samplers(facts: Mapping[int, Facts], world_size: int) -> Iterator[Found]:
    for rank, item in facts.items():
        if not item["distributed"] or not isinstance(item["replicas"], int):
            continue
        if item["replicas"] != world_size or item["sampler_rank"] != rank:
            values = {
                "rank": str(rank),
                "sampler": str(item["sampler"]),
                "sampler_rank": str(item["sampler_rank"]),
                "replicas": str(item["replicas"]),
                "world": str(world_size),
            }
            yield Found("loader.sampler-wrong-rank", values)
            break
    seeds = {rank: item["seed"] for rank, item in facts.items() if item["distributed"] and item["shuffle"]}
    if _differ(seeds):
        yield Found("loader.seeds-differ", {"seeds": by_value(seeds)})


def _settings(facts: Mapping[int, Facts]) -> Iterator[Found]:
    sizes = {rank: item["epochs"][0]["largest"] for rank, item in facts.items() if item["epochs"][0]["batches"]}
    if _differ(sizes):
        yield Found("loader.batch-sizes-differ", {"sizes": by_value(sizes)})
    for name in _SETTINGS:
        values = {rank: item.get(name) for rank, item in facts.items()}
        if _differ(values):
            yield Found("loader.settings-differ", {"name": name, "settings": by_value(values)})


def _order(facts: Mapping[int, Facts]) -> Iterator[Found]:
    """Judge the order across epochs on one rank: the others are built by the same code."""
    rank, item = next(iter(facts.items()))
    orders = [epoch["order"] for epoch in item["epochs"] if epoch["batches"] > 1]
    if len(orders) < 2 or len(set(orders)) > 1 or item["own_iter"] or not item["set_epoch"]:
        return
    values = {"rank": str(rank), "epochs": str(len(orders)), "sampler": str(item["sampler"] or item["dataset"])}
    if item["set_epoch_changes"] is False:
        yield Found("loader.set-epoch-ignored", values)
    elif item["shuffle"] is not False and not item["source_calls_set_epoch"]:
        yield Found("loader.needs-set-epoch", values)


def _shared(facts: Mapping[int, Facts], counts: Counts) -> Iterator[Found]:
    if len(facts) < 2 or not counts.shared:
        return
    first = next(iter(facts.values()))
    largest = max(item["epochs"][0]["largest"] for item in facts.values())
    values = {
        "shared": str(counts.shared),
        "union": str(counts.union),
        "n": str(len(facts)),
        "sampler": str(first["sampler"] or first["dataset"]),
    }
    stream = first["kind"] == "content"
    if counts.shared >= _SAME * counts.union and (not stream or counts.union > 2):
        yield Found("loader.stream-not-sharded" if stream else "loader.same-samples", values)
    elif stream:
        return  # equal samples of a stream may be two of a kind
    elif counts.shared > len(facts) * largest:
        yield Found("loader.samples-overlap", values)
    else:
        yield Found("loader.samples-padded", values)


def _divided_before(facts: Mapping[int, Facts]) -> bool:
    """Whether the ranks build their loaders over different samples."""
    contents = {rank: item["content"] for rank, item in facts.items() if item["content"] is not None}
    return len(contents) == len(facts) and _differ(contents)


def _twice(facts: Mapping[int, Facts]) -> Iterator[Found]:
    first = next(iter(facts.values()))
    if first["distributed"]:
        yield Found("loader.divided-twice", {"sampler": str(first["sampler"]), "dataset": str(first["dataset"])})


def _missing(facts: Mapping[int, Facts], counts: Counts) -> Iterator[Found]:
    """Say when samples are read by nobody, beyond what drop_last leaves out."""
    first = next(iter(facts.values()))
    total = first["dataset_len"]
    usual = first["kind"] == "index" and first["sampler"] in _WHOLE and not first["replacement"]
    if not usual or total is None or not all(item["epochs"][0]["complete"] for item in facts.values()):
        return
    if counts.shared >= _SAME * counts.union:
        return
    largest = max(item["epochs"][0]["largest"] for item in facts.values())
    left = total - counts.union
    if left > len(facts) * max(1, largest):
        yield Found("loader.samples-missing", {"missing": str(left), "total": str(total)})


def _workers(facts: Mapping[int, Facts], counts: Counts) -> Iterator[Found]:
    """Say when the workers of one rank all yield the same samples."""
    for rank, item in facts.items():
        workers = item.get("num_workers") or 0
        read, distinct = item["epochs"][0]["samples"], counts.distinct[rank]
        if item["kind"] == "content" and workers > 1 and distinct > 2 and read >= 1.8 * distinct:
            values = {"rank": str(rank), "workers": str(workers), "read": str(read), "distinct": str(distinct)}
            yield Found("loader.workers-repeat", values)
            return
