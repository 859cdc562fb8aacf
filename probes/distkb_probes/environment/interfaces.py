"""The network interfaces of this machine, as getifaddrs would show them to NCCL and Gloo."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import struct
import sys
from pathlib import Path
from typing import Any

_SIOCGIFFLAGS, _SIOCGIFADDR = 0x8913, 0x8915
_UP, _LOOPBACK, _RUNNING = 0x1, 0x8, 0x40


def interfaces() -> list[dict[str, Any]]:
    """Return name, addresses, and whether each interface is up, running and the loopback (Linux; elsewhere names)."""
    try:
        names = [name for _, name in socket.if_nameindex()]
    except (OSError, AttributeError):
        return []
    six = _ipv6_addresses()
    return [{"name": name, **_state(name), "addresses": [*_ipv4_address(name), *six.get(name, [])]} for name in names]


def _state(name: str) -> dict[str, bool]:
    request = _ask(name, _SIOCGIFFLAGS)
    flags = struct.unpack_from("=H", request, 16)[0] if request else _UP | _RUNNING
    return {"up": bool(flags & _UP), "running": bool(flags & _RUNNING), "loopback": bool(flags & _LOOPBACK)}


def _ipv4_address(name: str) -> list[str]:
    request = _ask(name, _SIOCGIFADDR)
    return [socket.inet_ntoa(request[20:24])] if request else []


def _ask(name: str, what: int) -> bytes | None:
    if not sys.platform.startswith("linux"):
        return None
    import fcntl

    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        return fcntl.ioctl(asked.fileno(), what, struct.pack("256s", name.encode()[:15]))
    return None


def _ipv6_addresses() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    with contextlib.suppress(OSError):
        for line in Path("/proc/net/if_inet6").read_text(encoding="ascii", errors="replace").splitlines():
            address, *_, name = line.split()
            with contextlib.suppress(ValueError):
                found.setdefault(name, []).append(str(ipaddress.IPv6Address(int(address, 16))))
    return found
