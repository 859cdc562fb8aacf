"""Which interfaces NCCL and Gloo would choose here, and why: their own rules, applied to the addresses of getifaddrs.

NCCL: src/misc/socket.cc (ncclFindInterfaces) and src/os/linux.cc (ncclOsFindInterfaces) of 2.30; earlier versions know
`docker` and `lo` only, not `virbr`. Gloo: ProcessGroupGloo::createDefaultDevice in torch, gloo/transport/tcp/device.cc.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from distkb_probes.netpath.links import Address

_NCCL_MOST = 16
_FAMILIES = {"AF_INET": "ipv4", "AF_INET6": "ipv6"}


@dataclass(frozen=True)
class Choice:
    """What a library would use, in its order: the first is the one whose address it hands to the others."""

    why: str
    """NCCL: ifname, ib, comm-id, other, docker, lo, virbr. Gloo: ifname, hostname, loopback. Both: none."""
    interfaces: tuple[tuple[str, str], ...] = ()
    """(interface, address)."""
    missing: tuple[str, ...] = field(default=())
    """Gloo: interfaces that were named and have no address."""

    def as_fact(self) -> dict[str, Any]:
        """Return it as JSON."""
        rows = [{"name": name, "address": address} for name, address in self.interfaces]
        return {"why": self.why, "interfaces": rows, "missing": list(self.missing)}


def nccl(known: Sequence[Address], environ: Mapping[str, str]) -> Choice:
    """Return what NCCL's sockets would use: for the bootstrap always, for the data where there is no RDMA."""
    family = _FAMILIES.get(environ.get("NCCL_SOCKET_FAMILY", ""))
    wanted = environ.get("NCCL_SOCKET_IFNAME", "")
    if len(wanted) > 1:
        found = _matching(known, wanted, family)
        return Choice("ifname" if found else "none", found)
    found = _matching(known, "ib", family)
    if found:
        return Choice("ib", found)
    comm_id = environ.get("NCCL_COMM_ID", "")
    if len(comm_id) > 1:
        found = _same_subnet(known, comm_id)
        if found:
            return Choice("comm-id", found)
    for why, pattern in (("other", "^docker,lo,virbr"), ("docker", "docker"), ("lo", "lo"), ("virbr", "virbr")):
        found = _matching(known, pattern, family)
        if found:
            return Choice(why, found)
    return Choice("none")


def _matching(known: Iterable[Address], pattern: str, family: str | None) -> tuple[tuple[str, str], ...]:
    """Return the running interfaces that a list such as `eth,ib0`, `^docker` or `=eth0` takes, each once."""
    excluding = pattern.startswith("^")
    pattern = pattern[excluding:]
    exact = pattern.startswith("=")
    names = [name for item in pattern[exact:].split(",") if (name := item.partition(":")[0])]
    found: dict[str, str] = {}
    for row in known:
        if not row.running or (family and row.family != family) or row.address == "::1":
            continue
        listed = not names or any(row.interface == n if exact else row.interface.startswith(n) for n in names)
        if listed != excluding:
            found.setdefault(row.interface, row.address)
    return tuple(found.items())[:_NCCL_MOST]


def _same_subnet(known: Iterable[Address], comm_id: str) -> tuple[tuple[str, str], ...]:
    """Return the first address in the subnet of NCCL_COMM_ID (`address:port`, `[address]:port`)."""
    six = comm_id.startswith("[")
    host = comm_id[1:].partition("]")[0] if six else comm_id.partition(",")[0].partition(":")[0]
    try:
        remote = ipaddress.ip_address(host)
    except ValueError:
        return ()
    for row in known:
        network = ipaddress.ip_network(f"{row.address}/{row.prefix}", strict=False)
        if remote.version == network.version and remote in network:
            return ((row.interface, row.address),)
    return ()


def gloo(
    known: Sequence[Address],
    environ: Mapping[str, str],
    hostname_addresses: Sequence[str],
    can_bind: Callable[[str], bool] | None = None,
) -> Choice:
    """Return what torch's Gloo would bind to: GLOO_SOCKET_IFNAME, else the hostname's first usable address, else lo."""
    named = environ.get("GLOO_SOCKET_IFNAME", "")
    if named:
        return _gloo_named(known, named.split(","))
    for address in hostname_addresses:
        if (can_bind or _can_bind)(address):
            return Choice("hostname", ((_interface_of(known, address), address),))
    return Choice("loopback", (("lo", "127.0.0.1"),))


def _gloo_named(known: Sequence[Address], names: Sequence[str]) -> Choice:
    first: dict[str, str] = {}
    for row in known:
        first.setdefault(row.interface, row.address)
    missing = tuple(name for name in names if name not in first)
    return Choice("none" if missing else "ifname", tuple((n, first[n]) for n in names if n in first), missing)


def _interface_of(known: Iterable[Address], address: str) -> str:
    bare = address.partition("%")[0]
    exact = next((row.interface for row in known if row.address == bare), None)
    # The whole of 127.0.0.0/8 belongs to the loopback interface, also where no address of it is listed.
    return exact or ("lo" if is_loopback(bare) else "?")


def is_loopback(address: str) -> bool:
    """Whether an address reaches its own machine only."""
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:
        return False


def _can_bind(address: str) -> bool:
    try:
        family, kind, _, _, target = socket.getaddrinfo(
            address, 0, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST
        )[0]
        with socket.socket(family, kind) as tried:
            tried.bind(target)
    except OSError:
        return False
    return True
