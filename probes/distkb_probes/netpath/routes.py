"""Which way packets to an address go: the kernel's own decision, asked without sending anything."""

from __future__ import annotations

import contextlib
import errno
import socket
from pathlib import Path
from typing import Any

_IP_MTU, _IPV6_MTU = 14, 24
_DISCARD = 9
"""A port that only fills the field: connecting a datagram socket sends nothing."""
_MOST = 64


def way_to(address: str) -> dict[str, Any]:
    """Return `source` (this machine's address on that way), `mtu` of the route in bytes, or `error` (errno's name)."""
    try:
        family, kind, _, _, target = socket.getaddrinfo(
            address, _DISCARD, type=socket.SOCK_DGRAM, flags=socket.AI_NUMERICHOST
        )[0]
        with socket.socket(family, kind) as asked:
            asked.connect(target)
            level, option = (
                (socket.IPPROTO_IPV6, _IPV6_MTU) if family == socket.AF_INET6 else (socket.IPPROTO_IP, _IP_MTU)
            )
            mtu = None
            with contextlib.suppress(OSError):
                mtu = asked.getsockopt(level, option)
            return {"to": address, "source": str(asked.getsockname()[0]), "mtu": mtu, "error": None}
    except OSError as problem:
        return {"to": address, "source": None, "mtu": None, "error": error_name(problem)}


def error_name(problem: OSError) -> str:
    """Return errno's name (`ECONNREFUSED`), or the message where there is none."""
    if isinstance(problem, TimeoutError) and problem.errno is None:
        return "ETIMEDOUT"
    return errno.errorcode.get(problem.errno or 0, str(problem))


def routes(table: Path = Path("/proc/net/route")) -> list[dict[str, Any]]:
    """Return the main IPv4 table: interface, destination with prefix, gateway (None for a direct route)."""
    found: list[dict[str, Any]] = []
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in table.read_text(encoding="ascii", errors="replace").splitlines()[1:]:
            fields = line.split()
            prefix = int(fields[7], 16).bit_count()
            gateway = _dotted(fields[2])
            found.append(
                {
                    "interface": fields[0],
                    "to": f"{_dotted(fields[1])}/{prefix}",
                    "gateway": None if gateway == "0.0.0.0" else gateway,  # noqa: S104 - no address to bind
                }
            )
    return found[:_MOST]


def _dotted(word: str) -> str:
    return socket.inet_ntoa(int(word, 16).to_bytes(4, "little"))
