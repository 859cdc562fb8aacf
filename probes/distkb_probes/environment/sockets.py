"""Whether a port can be listened on the way torch does it, and who holds it where it cannot."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
from pathlib import Path
from typing import Any

_LISTEN, _TIME_WAIT = "0A", "06"
_STATES = {"01": "connected", "02": "connecting", "08": "closing", _LISTEN: "listening", _TIME_WAIT: "closed"}
_MOST_HOLDERS = 4
_KINDS = {errno.EADDRINUSE: "taken", errno.EACCES: "denied", errno.EPERM: "denied"}


def try_listen(port: int) -> dict[str, Any]:
    """Listen for a moment on the wildcard address, IPv6 with IPv4 first, then IPv4 alone, as TCPStore does.

    `listen` is `free`, `taken`, `denied` or `unavailable`; `family` is what a store would listen on. The socket has
    SO_REUSEADDR, as torch's has, so that connections in TIME_WAIT are no obstacle.
    """
    six = _listen(socket.AF_INET6, port)
    if six == "free":
        return {"listen": "free", "family": "ipv6", "ipv6": six}
    four = _listen(socket.AF_INET, port)
    return {"listen": four, "family": "ipv4" if four == "free" else None, "ipv6": six}


def _listen(family: socket.AddressFamily, port: int) -> str:
    try:
        with socket.socket(family, socket.SOCK_STREAM) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                tried.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            tried.bind(("", port))
            tried.listen(1)
    except OSError as problem:
        return _KINDS.get(problem.errno or 0, "unavailable")
    return "free"


def sockets_on(port: int, net: Path = Path("/proc/net")) -> list[dict[str, Any]]:
    """Return the sockets with this local port, listeners first; those in TIME_WAIT belong to no process any more."""
    found: list[dict[str, Any]] = []
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in (net / table).read_text(encoding="ascii", errors="replace").splitlines()[1:]:
                row = parse_row(line)
                if row is not None and row["port"] == port:
                    found.append(row)
    return sorted(found, key=lambda row: bool(row["state"] != "listening"))


def parse_row(line: str) -> dict[str, Any] | None:
    """Parse one row of `/proc/net/tcp` or `tcp6`; None for what is no row."""
    fields = line.split()
    try:
        address, _, port = fields[1].rpartition(":")
        state, uid, inode = fields[3], int(fields[7]), int(fields[9])
        row = {"address": _address(address), "port": int(port, 16)}
    except (IndexError, ValueError):
        return None
    return {**row, "state": _STATES.get(state, "open"), "uid": uid, "inode": inode}


def _address(text: str) -> str:
    """Return an address of the kernel's table, 32-bit words in the machine's byte order, as people write it."""
    words = [int(text[start : start + 8], 16) for start in range(0, len(text), 8)]
    packed = b"".join(word.to_bytes(4, "little") for word in words)
    return socket.inet_ntop(socket.AF_INET if len(packed) == 4 else socket.AF_INET6, packed)


def owners(inodes: set[int], proc: Path = Path("/proc")) -> tuple[dict[int, list[int]], bool]:
    """Return inode → pids of the processes that have it open, and whether some processes could not be looked into."""
    found: dict[int, list[int]] = {}
    hidden = False
    links = {f"socket:[{inode}]": inode for inode in inodes}
    for name in os.listdir(proc):  # noqa: PTH208 - names only, many of them
        if not name.isdigit():
            continue
        try:
            descriptors = os.listdir(proc / name / "fd")  # noqa: PTH208
        except PermissionError:
            hidden = True
            continue
        except OSError:
            continue
        for descriptor in descriptors:
            with contextlib.suppress(OSError):
                inode = links.get(str((proc / name / "fd" / descriptor).readlink()))
                if inode is not None and int(name) not in found.setdefault(inode, []):
                    found[inode].append(int(name))
    return found, hidden


def holders(port: int, net: Path = Path("/proc/net")) -> dict[str, Any]:
    """Return who holds a port: `holders` with pid, uid, state and address; `unseen` where a pid could not be found.

    `closing` says that closed connections are in TIME_WAIT: nobody holds the port then, and the kernel frees it within
    a minute, at once where its owner had set SO_REUSEADDR.
    """
    rows = sockets_on(port, net)
    sockets = [row for row in rows if row["state"] != "closed"]
    by_inode, hidden = owners({row["inode"] for row in sockets if row["inode"]})
    found: list[dict[str, Any]] = []
    for row in sockets:
        pids: list[int | None] = [*by_inode.get(row["inode"], [])] or [None]
        for pid in pids:
            holder = {"pid": pid, "uid": row["uid"], "state": row["state"], "address": row["address"]}
            if holder not in found:
                found.append(holder)
    unseen = hidden and any(holder["pid"] is None for holder in found)
    return {"holders": found[:_MOST_HOLDERS], "unseen": unseen, "closing": len(sockets) < len(rows)}


def parse_port(text: str) -> int | None:
    """Return the number of a port as Python's int() reads it; None where it is no integer."""
    try:
        return int(text)
    except ValueError:
        return None


def port_ranges() -> dict[str, Any]:
    """Return the kernel's range for outgoing connections, and the first port that needs no privilege."""
    ranges: dict[str, Any] = {"ephemeral": None, "first_unprivileged": 1024}
    with contextlib.suppress(OSError, ValueError):
        low, high = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()
        ranges["ephemeral"] = [int(low), int(high)]
    with contextlib.suppress(OSError, ValueError):
        text = Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text(encoding="ascii")
        ranges["first_unprivileged"] = int(text)
    return ranges
