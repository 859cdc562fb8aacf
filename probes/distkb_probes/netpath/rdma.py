"""What this machine has beside TCP: InfiniBand, RoCE and EFA devices, and what NCCL needs to use them.

Everything is read from /sys, /dev and the file system below `root`; nothing is opened or loaded.
"""

from __future__ import annotations

import contextlib
import glob
import os
import resource
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from distkb_probes.netpath.links import said

_MOST_GIDS = 16
_LIBRARIES = {
    "libibverbs": ("libibverbs.so.1", "libibverbs.so"),
    "libfabric": ("libfabric.so.1", "libfabric.so"),
    "plugin": ("libnccl-net.so", "libnccl-net-ofi.so", "libnccl-net-*.so"),
}
_FOLDERS = (
    "lib",
    "lib64",
    "usr/lib",
    "usr/lib64",
    "usr/lib/*-linux-gnu",
    "usr/local/lib",
    "usr/local/lib64",
    "opt/amazon/efa/lib",
    "opt/amazon/efa/lib64",
    "opt/amazon/ofi-nccl/lib",
    "opt/amazon/ofi-nccl/lib/*-linux-gnu",
    "opt/amazon/ofi-nccl/lib64",
    "opt/aws-ofi-nccl/lib",
    "opt/aws-ofi-nccl/lib64",
    "usr/local/cuda/lib64",
)
_PEER_MODULES = (
    "sys/module/nvidia_peermem/version",
    "sys/kernel/mm/memory_peers/nv_mem/version",
    "sys/kernel/mm/memory_peers/nv_mem_nc/version",
)
"""The files that NCCL looks for (src/transport/net_ib/gdr.cc)."""


def collect(environ: Mapping[str, str], root: Path = Path("/")) -> dict[str, Any]:
    """Return devices with their ports, device files, libraries, the limit of locked memory (bytes, None unlimited)."""
    devices = [_device(path) for path in _children(root / "sys/class/infiniband")]
    soft = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    return {
        "devices": devices,
        "uverbs": [path.name for path in _children(root / "dev/infiniband") if path.name.startswith("uverbs")],
        "memlock": None if soft == resource.RLIM_INFINITY else soft,
        "libraries": {name: _library(names, environ, root) for name, names in _LIBRARIES.items()} if devices else {},
        "peer_memory": any((root / path).exists() for path in _PEER_MODULES),
        "nvidia": (root / "proc/driver/nvidia/version").exists(),
        "open_kernel_module": "Open Kernel Module" in said(root / "proc/driver/nvidia/version"),
    }


def _device(path: Path) -> dict[str, Any]:
    driver = ""
    with contextlib.suppress(OSError):
        driver = (path / "device/driver").resolve().name
    ports = [_port(folder) for folder in _children(path / "ports")]
    nets = [folder.name for folder in _children(path / "device/net")]
    efa = driver == "efa" or path.name.startswith("efa")
    return {"name": path.name, "driver": driver, "efa": efa, "ports": ports, "interfaces": nets}


def _port(folder: Path) -> dict[str, Any]:
    gids: list[dict[str, str]] = []
    for path in _children(folder / "gids"):
        gid = said(path)
        if gid and set(gid) - set("0:") and len(gids) < _MOST_GIDS:
            kind = said(folder / "gid_attrs/types" / path.name)
            gids.append({"index": path.name, "gid": gid, "type": kind})
    return {
        "port": folder.name,
        # The file says `4: ACTIVE`.
        "state": said(folder / "state").rpartition(":")[2].strip(),
        "rate": said(folder / "rate"),
        "link": said(folder / "link_layer"),
        "gids": gids,
    }


def _library(names: tuple[str, ...], environ: Mapping[str, str], root: Path) -> str | None:
    named = [Path(entry) for entry in environ.get("LD_LIBRARY_PATH", "").split(":") if entry.startswith("/")]
    for folder in (*named, *(root / folder for folder in _FOLDERS)):
        for name in names:
            found = sorted(glob.glob(str(folder / name)))  # noqa: PTH207 - the folder is a pattern too
            if found:
                return found[0]
    return None


def _children(folder: Path) -> list[Path]:
    with contextlib.suppress(OSError):
        return sorted(folder / name for name in os.listdir(folder))  # noqa: PTH208
    return []
