"""What this host is and would use: collected once, judged here, and shown to the other end."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from distkb_probes.environment import machine, names, nccl_files, sockets, variables
from distkb_probes.netpath import choice, links, rdma, routes

_SHOWN = ("NCCL_", "GLOO_", "TP_SOCKET_IFNAME", "MASTER_ADDR", "MASTER_PORT", "FI_", "UCX_")
_MOST_ADDRESSES = 64


def collect(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the facts of this host."""
    known = links.addresses()
    hostname = names.resolve(socket.gethostname())
    master = environ.get("MASTER_ADDR")
    resolved = names.resolve(master) if master and len(master) < 256 else None
    settings = nccl_files.nccl_settings(environ)
    # NCCL takes what is not in the environment from its files.
    merged = {**{row["name"]: row["value"] for row in settings}, **environ}
    addresses = [str(address) for address in hostname["addresses"]]
    return {
        "host": {
            "hostname": socket.gethostname(),
            "boot": _boot_id(),
            "container": machine.container(),
            "python": platform.python_version(),
            "versions": {name: _version(name) for name in ("torch", *_NCCL_PACKAGES)},
        },
        "environment": variables.select(environ),
        "interfaces": links.interfaces(known),
        "routes": routes.routes(),
        "names": {"hostname": hostname, "master": resolved},
        "nccl_files": settings,
        "nccl": choice.nccl(known, merged).as_fact(),
        "gloo": choice.gloo(known, environ, addresses).as_fact(),
        "master_way": _master_way(resolved),
        "ephemeral": sockets.port_ranges()["ephemeral"],
        "rdma": rdma.collect(environ),
        "tcp_mtu_probing": _number("/proc/sys/net/ipv4/tcp_mtu_probing"),
    }


_NCCL_PACKAGES = ("nvidia-nccl-cu13", "nvidia-nccl-cu12", "nvidia-nccl-cu11")


def card(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of the facts that the other end needs: names, addresses, choices, versions."""
    rows = [
        {key: row[key] for key in ("name", "kind", "mtu", "speed", "addresses", "networks")}
        for row in facts["interfaces"]
        if row["addresses"]
    ]
    return {
        "host": facts["host"],
        "interfaces": rows[:_MOST_ADDRESSES],
        "nccl": facts["nccl"],
        "gloo": facts["gloo"],
        "ephemeral": facts["ephemeral"],
        "settings": {name: value for name, value in facts["environment"].items() if name.startswith(_SHOWN)},
    }


def own_addresses(facts: Mapping[str, Any]) -> set[str]:
    """Return every address of a host, from its facts or its card."""
    return {str(address) for row in facts.get("interfaces") or () for address in row.get("addresses") or ()}


def _master_way(resolved: Mapping[str, Any] | None) -> dict[str, Any] | None:
    addresses = list(resolved["addresses"]) if resolved else []
    return routes.way_to(str(addresses[0])) if addresses else None


def _version(name: str) -> str | None:
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(name)
    return None


def _boot_id() -> str | None:
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return None


def _number(path: str) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        return int(Path(path).read_text(encoding="ascii"))
    return None


def environment() -> dict[str, str]:
    """Return the environment of this process."""
    return dict(os.environ)
