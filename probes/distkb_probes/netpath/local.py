"""What is wrong, or worth knowing, on this host alone: its interfaces and its RDMA devices. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from distkb_probes.netpath.links import VIRTUAL

Found = tuple[str, dict[str, object]]
LOOKED_FOR = (
    "network.nccl-virtual-interface",
    "network.nccl-link-local",
    "network.interface-slow",
    "network.master-no-route",
)
RDMA_LOOKED_FOR = (
    "network.rdma-no-active-port",
    "network.rdma-no-device-files",
    "network.rdma-no-libibverbs",
    "network.rdma-disabled",
    "network.memlock-low",
    "network.efa-no-plugin",
    "network.efa-no-libfabric",
    "network.roce-no-v2-gid",
    "network.gpu-direct-missing",
)
MEMLOCK_LEAST = 1 << 30
"""Bytes: registering the buffers of one communicator takes tens to hundreds of MiB per rank."""
SLOW_MBIT = 1000


def judge(facts: Mapping[str, Any]) -> Iterator[Found]:
    """Yield finding ids with their values."""
    yield from _nccl(facts)
    yield from _master(facts)
    if (facts.get("rdma") or {}).get("devices"):
        yield from _rdma(facts["rdma"], facts.get("environment") or {})


def _nccl(facts: Mapping[str, Any]) -> Iterator[Found]:
    rows = {row["name"]: row for row in facts["interfaces"]}
    chosen = facts["nccl"]["interfaces"]
    others = [
        row
        for row in rows.values()
        if row["running"] and row["addresses"] and row["kind"] in ("physical", "bond", "ipoib")
    ]
    for row in chosen:
        link = rows.get(row["name"], {})
        if facts["nccl"]["why"] == "other" and link.get("kind") in VIRTUAL and others:
            better = _by_default_route(facts, others)
            yield (
                "network.nccl-virtual-interface",
                {
                    "interface": row["name"],
                    "kind": link["kind"],
                    "address": row["address"],
                    "all": ", ".join(item["name"] for item in chosen),
                    "better": better["name"],
                },
            )
    if chosen and chosen[0]["address"].startswith("fe80:"):
        yield "network.nccl-link-local", {"interface": chosen[0]["name"], "address": chosen[0]["address"]}
    if chosen:
        yield from _slow(rows.get(chosen[0]["name"], {}), others)


def _by_default_route(facts: Mapping[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    ways = {route["interface"] for route in facts.get("routes") or () if route["to"] == "0.0.0.0/0"}
    return next((row for row in rows if row["name"] in ways), rows[0])


def _slow(link: Mapping[str, Any], others: list[dict[str, Any]]) -> Iterator[Found]:
    speed = link.get("speed")
    if speed is None or speed > SLOW_MBIT or link.get("kind") == "veth":
        return
    faster = [row for row in others if (row["speed"] or 0) >= 10 * speed and row["name"] != link["name"]]
    if faster:
        best = max(faster, key=lambda row: row["speed"])
        yield (
            "network.interface-slow",
            {"interface": link["name"], "speed": speed, "better": best["name"], "better_speed": best["speed"]},
        )


def _master(facts: Mapping[str, Any]) -> Iterator[Found]:
    way = facts.get("master_way")
    if way and way.get("error"):
        yield "network.master-no-route", {"address": way["to"], "how": way["error"]}


def _rdma(rdma: Mapping[str, Any], environment: Mapping[str, str]) -> Iterator[Found]:
    devices = rdma["devices"]
    ports = [(device, port) for device in devices for port in device["ports"]]
    active = [(device, port) for device, port in ports if port["state"] == "ACTIVE"]
    names = ", ".join(device["name"] for device in devices)
    if ports and not active:
        states = ", ".join(f"{device['name']}:{port['port']} {port['state']}" for device, port in ports[:8])
        yield "network.rdma-no-active-port", {"states": states}
    if not rdma["uverbs"]:
        yield "network.rdma-no-device-files", {"devices": names}
    efa = [device for device in devices if device["efa"]]
    libraries = rdma["libraries"]
    if not efa and active and libraries.get("libibverbs") is None:
        yield "network.rdma-no-libibverbs", {"devices": names}
    if efa:
        if libraries.get("libfabric") is None:
            yield "network.efa-no-libfabric", {"devices": names}
        elif libraries.get("plugin") is None:
            yield "network.efa-no-plugin", {"devices": names}
    if rdma["memlock"] is not None and rdma["memlock"] < MEMLOCK_LEAST:
        yield "network.memlock-low", {"limit": _size(rdma["memlock"]), "devices": names}
    if active and environment.get("NCCL_IB_DISABLE", "0") not in ("", "0"):
        yield "network.rdma-disabled", {"value": environment["NCCL_IB_DISABLE"], "devices": names}
    yield from _roce(active)
    # The open kernel module exports dma-buf, which NCCL takes without nvidia_peermem.
    if rdma["nvidia"] and active and not rdma["peer_memory"] and not rdma["open_kernel_module"]:
        yield "network.gpu-direct-missing", {"devices": names}


def _roce(active: list[tuple[dict[str, Any], dict[str, Any]]]) -> Iterator[Found]:
    for device, port in active:
        if port["link"] == "Ethernet" and port["gids"] and not any("v2" in gid["type"].lower() for gid in port["gids"]):
            yield "network.roce-no-v2-gid", {"device": device["name"], "port": port["port"]}


def _size(count: int) -> str:
    return f"{count >> 20} MiB" if count >= 1 << 20 else f"{count >> 10} KiB"
