"""What the live checks conclude from many ranks' summaries: hosts, GPUs, groups and meshes that one machine has not."""

from __future__ import annotations

from typing import Any

from distkb_probes.live._coverage import CoverageCheck, PlacementCheck
from distkb_probes.live._groups import GroupCheck, MeshCheck
from distkb_probes.live._memory import MemoryCheck
from distkb_probes.live._tensors import TensorCheck

GIB = 1 << 30


def memory(**changed: Any) -> dict[str, Any]:
    """One rank's counters."""
    host = {"host": "a", "rss": 4 * GIB, "host_total": 64 * GIB, "host_available": 32 * GIB}
    shm = {"shm_total": 8 * GIB, "shm_free": 7 * GIB}
    return {**host, **shm, "device": "cuda:0", "peak": 20 * GIB, "uuid": "", "elsewhere": [], **changed}


def ids(found: list[dict[str, Any]]) -> dict[str, list[int]]:
    """Findings with their ranks."""
    return {item["id"]: item["ranks"] for item in found}


def test_equal_memory_is_no_finding() -> None:
    """Small differences between ranks are normal."""
    found, _ = MemoryCheck().judge({rank: memory(peak=20 * GIB + rank) for rank in range(8)}, {})
    assert found == []


def test_the_rank_with_much_more_memory_is_named() -> None:
    """CUDA peaks and resident memory are compared with the median."""
    ranks = {rank: memory(uuid=f"GPU-{rank}") for rank in range(8)}
    ranks[0] = memory(uuid="GPU-0", peak=31 * GIB)
    ranks[5] = memory(uuid="GPU-5", rss=9 * GIB)
    found, _ = MemoryCheck().judge(ranks, {})
    assert [(item["id"], item["ranks"]) for item in found] == [
        ("live.memory-outlier", [0]),
        ("live.memory-outlier", [5]),
    ]
    assert found[0]["values"]["value"] == str(31 * 1024)


def test_shared_gpus_and_foreign_memory_are_named() -> None:
    """Equal GPUs matter only on one host."""
    ranks = {rank: memory(uuid="GPU-0", host="ab"[rank // 2]) for rank in range(3)}
    ranks[2] = memory(uuid="GPU-0", host="b", elsewhere=["cuda:0 (300 MiB)"])
    found, _ = MemoryCheck().judge(ranks, {})
    assert ids(found) == {"live.same-gpu": [0, 1], "live.memory-on-other-gpu": [2]}


def test_a_host_that_runs_out_is_named_once() -> None:
    """Host memory and /dev/shm are each host's, not each rank's."""
    ranks = {rank: memory(host_available=GIB, shm_free=1024) for rank in range(4)}
    found, _ = MemoryCheck().judge(ranks, {})
    assert [item["id"] for item in found] == ["live.host-memory-low", "live.shm-full"]


def group(name: str, members: str, **changed: Any) -> dict[str, Any]:
    """One group as a rank sees it."""
    known = {"backend": "nccl", "timeout": "600 s", "description": "undefined", "sequence": 7}
    return {"name": name, "members": members, **known, **changed}


def test_groups_of_one_name_must_have_the_same_members() -> None:
    """Ranks that created groups in another order are found, and so is a member that has no such group."""
    world = group("0", "0-3")
    ranks = {rank: {"groups": [world, group("1", "0,2" if rank != 2 else "0-2")]} for rank in range(3)}
    ranks[3] = {"groups": [world]}
    assert ids(GroupCheck().judge(ranks, {})[0]) == {"live.groups-differ": [2]}
    ranks = {rank: {"groups": [world, group("1", "0-3")] if rank != 3 else [world]} for rank in range(4)}
    assert ids(GroupCheck().judge(ranks, {})[0]) == {"live.group-missing": [3]}


def test_disjoint_groups_of_one_rank_each_are_in_order() -> None:
    """The groups of different rows of a mesh have names of their own and are not compared."""
    ranks = {
        rank: {"groups": [group("0", "0-3"), group(f"tp{rank // 2}", "0,1" if rank < 2 else "2,3")]}
        for rank in range(4)
    }
    assert GroupCheck().judge(ranks, {})[0] == []


def mesh(members: str, host: str = "a", shape: tuple[int, ...] = (2, 2), *, inside: bool = True) -> dict[str, Any]:
    """One rank's view of its mesh."""
    return {"shape": list(shape), "names": ["dp", "tp"], "members": members, "inside": inside, "host": host}


def test_meshes_and_their_slices() -> None:
    """Slices cover the world together; a hybrid mesh that shards between hosts is found."""
    check = MeshCheck(None)
    assert check.judge({rank: mesh("0-3", "ab"[rank // 2]) for rank in range(4)}, {})[0] == []
    assert check.judge({rank: mesh("0,1" if rank < 2 else "2,3", shape=(2,)) for rank in range(4)}, {})[0] == []
    turned = check.judge({rank: mesh("0-3", "ab"[rank % 2]) for rank in range(4)}, {})[0]
    assert ids(turned) == {"live.mesh-shards-across-hosts": [0, 1, 2, 3]}
    part = check.judge({0: mesh("0", shape=(1,)), 1: mesh("0", shape=(1,), inside=False)}, {})[0]
    assert ids(part) == {"live.mesh-incomplete": [1]}


def test_placements_that_differ_or_stay_whole_are_named() -> None:
    """Layouts are compared by their counts; large replicated parameters count only beside sharded ones."""
    plain = {
        "groups": {"Shard(0) on cuda dp=2": {"count": 4, "elements": 9, "names": ["a"]}},
        "large": [],
        "partial": [],
    }
    other = {**plain, "groups": {"Shard(1) on cuda dp=2": {"count": 4, "elements": 9, "names": ["a"]}}}
    whole = {**plain, "large": ["embed.weight"], "large_count": 1}
    check = PlacementCheck(None)  # type: ignore[arg-type]
    assert check.judge({0: plain, 1: plain}, {})[0] == []
    assert ids(check.judge({0: plain, 1: plain, 2: other}, {})[0]) == {"live.placements-differ": [2]}
    assert ids(check.judge({0: whole, 1: whole}, {})[0]) == {"live.placement-replicated": [0, 1]}


def coverage(alone: list[str], **kinds: int) -> dict[str, Any]:
    """One rank's survey."""
    return {"kinds": kinds, "elements": {k: [n, n] for k, n in kinds.items()}, "alone": len(alone), "names": alone}


def test_what_is_outside_is_told_by_the_wrapper_inside() -> None:
    """Plain parameters matter beside FSDP, not beside tensor parallelism."""
    check = CoverageCheck(None)  # type: ignore[arg-type]
    fsdp = {rank: coverage(["head.weight"], fsdp2=9, none=1) for rank in range(2)}
    assert ids(check.judge(fsdp, {})[0]) == {"live.outside-fsdp": [0, 1]}
    assert check.judge({rank: coverage(["norm.weight"], dtensor=9, none=1) for rank in range(2)}, {})[0] == []
    assert check.judge({0: coverage(["w"], none=1)}, {})[0] == []
    assert "live.coverage-differs" in ids(check.judge({0: coverage([], ddp=2), 1: coverage([], fsdp2=2)}, {})[0])


def test_many_different_ranks_are_compared_by_a_few() -> None:
    """Where every one of 1,000 ranks has other weights, details of a handful are asked for."""
    check = TensorCheck(None, "params", 0.0)
    summary = {"count": 1, "bad": [], "bad_count": 0, "all": True}
    summaries = {rank: {**summary, "digest": str(rank)} for rank in range(1000)}
    wanted = check.wants(summaries)
    assert len(wanted) == 8
    row = {"name": "w", "shape": [1], "dtype": "float32", "device": "cpu", "requires-grad": True}
    found, facts = check.judge(summaries, {rank: [{**row, "sum": str(rank)}] for rank in wanted})
    assert ids(found) == {"live.parameters-differ": [1, 2, 3, 4, 5, 6, 7]}
    assert facts["groups_of_equal_ranks"] == 1000
