"""Do the ranks agree about their process groups, the work done in them, and their device meshes?"""

from __future__ import annotations

import math
import socket
from collections.abc import Mapping
from typing import Any

from distkb_probes.live._check import ROWS, Check, Verdict
from distkb_probes.live._exchange import Sheet
from distkb_probes.live._ranks import classes, odd_ones, spans
from distkb_probes.live._result import finding


class GroupCheck(Check):
    """Compares, group by group, what its members say of it."""

    name = "groups"
    ids = ("live.groups-differ", "live.group-missing", "live.group-settings", "live.collectives-differ")

    def collect(self) -> Sheet:
        """List the groups that this rank is in, in the order of their creation."""
        return Sheet({"groups": _groups_here()})

    def judge(self, summaries: Mapping[int, Any], details: Mapping[int, Any]) -> Verdict:  # noqa: ARG002
        """Find groups of one name that are not the same, and members that do not know of their membership."""
        said: dict[str, dict[int, Any]] = {}
        for rank, summary in summaries.items():
            for group in summary["groups"]:
                said.setdefault(group["name"], {})[rank] = group
        found = []
        for name, by_rank in said.items():
            found += self._one(name, by_rank, set(summaries))
        facts = [
            {key: value for key, value in next(iter(by_rank.values())).items() if key != "sequence"}
            for by_rank in list(said.values())[:64]
        ]
        return found, {"groups": facts, "count": len(said)}

    def _one(self, name: str, by_rank: dict[int, Any], present: set[int]) -> list[Any]:
        members = {rank: str(group["members"]) for rank, group in by_rank.items()}
        odd, most = odd_ones(members)
        if odd:
            evidence = [f"rank {spans(ranks)}: group {name} = {members[ranks[0]]}" for ranks in classes(members)[:ROWS]]
            values = {"group": name, "value": members[odd[0]], "expected": members[most[0]]}
            return [finding("live.groups-differ", ranks=odd, evidence=evidence, values=values)]
        group = next(iter(by_rank.values()))
        absent = sorted(set(_expand(group["members"])) & present - set(by_rank))
        found = []
        if absent:
            values = {"group": name, "members": group["members"], "others": str(len(by_rank))}
            found.append(finding("live.group-missing", ranks=absent, values=values))
        for setting in ("backend", "timeout", "description"):
            seen = {rank: str(one[setting]) for rank, one in by_rank.items() if one[setting] is not None}
            found += _disagreement("live.group-settings", seen, group=name, setting=setting, members=group["members"])
        counts = {rank: str(one["sequence"]) for rank, one in by_rank.items() if one["sequence"] is not None}
        found += _disagreement("live.collectives-differ", counts, group=name, members=group["members"])
        return found


class MeshCheck(Check):
    """Compares a device mesh between the ranks, and with the world."""

    name = "mesh"
    ids = ("live.mesh-differs", "live.mesh-incomplete", "live.mesh-not-a-member", "live.mesh-shards-across-hosts")

    def __init__(self, mesh: Any) -> None:
        self.mesh = mesh

    def collect(self) -> Sheet:
        """Describe the mesh as this rank sees it."""
        members = self.mesh.mesh.flatten().tolist()
        coordinate = self.mesh.get_coordinate()
        names = list(self.mesh.mesh_dim_names or ())
        summary = {"shape": list(self.mesh.mesh.shape), "names": names, "members": _packed(members)}
        return Sheet({**summary, "inside": coordinate is not None, "host": socket.gethostname()})

    def judge(self, summaries: Mapping[int, Any], details: Mapping[int, Any]) -> Verdict:  # noqa: ARG002
        """A mesh's members must all have that mesh; slices of a mesh are one mesh per row."""
        views = {rank: f"{s['shape']} {s['names']} {s['members']}" for rank, s in summaries.items()}
        covered = {member for summary in summaries.values() for member in _expand(summary["members"])}
        found = []
        wrong = [
            rank
            for rank, summary in summaries.items()
            if any(views.get(member, views[rank]) != views[rank] for member in _expand(summary["members"]))
        ]
        if wrong:
            evidence = [f"rank {spans(ranks)}: {views[ranks[0]]}" for ranks in classes(views)[:ROWS]]
            found.append(finding("live.mesh-differs", ranks=wrong, evidence=evidence))
        first = summaries[min(summaries)]
        size = math.prod(first["shape"])
        outside = sorted(set(summaries) - covered)
        if outside:
            values = {"shape": first["shape"], "size": size, "world": len(summaries)}
            found.append(finding("live.mesh-incomplete", ranks=outside, values=values))
        lost = [rank for rank, s in summaries.items() if not s["inside"] and rank not in outside]
        if lost:
            found.append(finding("live.mesh-not-a-member", ranks=lost, values={"shape": first["shape"]}))
        if not wrong:
            found += self._across_hosts(summaries)
        facts = {"shape": first["shape"], "names": first["names"], "size": size, "meshes": len(set(views.values()))}
        return found, facts

    def _across_hosts(self, summaries: Mapping[int, Any]) -> list[Any]:
        """A hybrid mesh turned the wrong way: it shards between hosts and replicates within one."""
        first = summaries[min(summaries)]
        members = _expand(first["members"])
        if len(first["shape"]) != 2 or not all(rank in summaries for rank in members):
            return []
        rows, columns = first["shape"]
        hosts = [[summaries[members[row * columns + at]]["host"] for at in range(columns)] for row in range(rows)]
        within = all(len({line[at] for line in hosts}) == 1 for at in range(columns))
        across = all(len(set(line)) == columns for line in hosts)
        if rows == 1 or columns == 1 or not (within and across):
            return []
        values = {"shape": first["shape"], "hosts": len(set(hosts[0]))}
        return [finding("live.mesh-shards-across-hosts", ranks=members, values=values)]


def _disagreement(identity: str, seen: dict[int, str], **values: object) -> list[Any]:
    odd, most = odd_ones(seen)
    if not odd:
        return []
    evidence = [f"rank {spans(ranks)}: {seen[ranks[0]]}" for ranks in classes(seen)[:ROWS]]
    values |= {"others": len(most), "value": seen[odd[0]], "expected": seen[most[0]]}
    return [finding(identity, ranks=odd, evidence=evidence, values=values)]


def _groups_here() -> list[dict[str, Any]]:
    import torch.distributed.distributed_c10d as c10d

    found = []
    world = c10d._world  # noqa: SLF001 - the only list of groups that torch has
    for group, (backend, _store) in world.pg_map.items():
        found.append(
            {
                "name": world.pg_names.get(group, "?"),
                "members": spans(world.pg_group_ranks[group]),
                "backend": str(backend),
                "timeout": _timeouts(group),
                "description": getattr(group, "group_desc", None),
                "sequence": _sequence(group),
            }
        )
    return found


def _timeouts(group: Any) -> str | None:
    """Return the group's timeout, per device type where it differs, None where its backend does not tell."""
    limits: dict[str, str] = {}
    for device in getattr(group, "_device_types", ()):
        try:
            limit = group._get_backend(device).options._timeout  # noqa: SLF001 - options have no public timeout
        except (RuntimeError, AttributeError):
            continue
        limits[str(getattr(device, "type", device))] = f"{limit.total_seconds():g} s"
    if len(set(limits.values())) == 1:
        return next(iter(limits.values()))
    return ", ".join(f"{device} {limit}" for device, limit in sorted(limits.items())) or None


def _sequence(group: Any) -> int | None:
    """Return the number of collectives that this rank has begun in a group, None where it is not counted."""
    try:
        return int(group._get_sequence_number_for_group())  # noqa: SLF001 - what torch's own debug mode compares
    except RuntimeError:
        return None


def _packed(members: list[int]) -> str:
    """Write a mesh's members in their order: a plain range is most of them."""
    if members and members == list(range(members[0], members[0] + len(members))) and len(members) > 2:
        return f"{members[0]}-{members[-1]}"
    return ",".join(map(str, members))


def _expand(text: str) -> list[int]:
    """Return the ranks of `0-3,7` in the order written."""
    ranks: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first:
            ranks += range(int(first), int(last or first) + 1)
    return ranks
