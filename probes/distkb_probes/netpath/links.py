"""The network interfaces of this machine, with their addresses in the order of getifaddrs, which NCCL and Gloo read."""

from __future__ import annotations

import contextlib
import ctypes
import ipaddress
import re
import socket
import struct
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_UP, _LOOPBACK, _RUNNING = 0x1, 0x8, 0x40
_SIOCGIFMTU, _SIOCETHTOOL, _ETHTOOL_GDRVINFO = 0x8921, 0x8946, 0x3
_INFINIBAND = "32"
"""ARPHRD_INFINIBAND in /sys/class/net/NAME/type: IP over InfiniBand."""
_DRIVERS = {
    "veth": "veth",
    "bridge": "bridge",
    "tun": "tunnel",
    "wireguard": "tunnel",
    "vxlan": "tunnel",
    "bonding": "bond",
    "team": "bond",
    "dummy": "virtual",
    "macvlan": "virtual",
    "ipvlan": "virtual",
}
_DOCKER = re.compile(r"docker\d|br-[0-9a-f]{12}|podman\d|cni\d|virbr\d|lxc(?:br|dbr)\d|nerdctl\d|flannel|cali|cilium")
VIRTUAL = frozenset({"bridge", "docker", "tunnel", "virtual"})
"""Kinds that lead to containers, guests or a tunnel of this machine, and rarely to another machine."""


@dataclass(frozen=True)
class Address:
    """One address of one interface, as getifaddrs returns it."""

    interface: str
    address: str
    prefix: int
    up: bool
    running: bool
    loopback: bool

    @property
    def family(self) -> str:
        """`ipv4` or `ipv6`."""
        return "ipv6" if ":" in self.address else "ipv4"


class _Ifaddrs(ctypes.Structure):
    pass


_Ifaddrs._fields_ = [
    ("next", ctypes.POINTER(_Ifaddrs)),
    ("name", ctypes.c_char_p),
    ("flags", ctypes.c_uint),
    ("address", ctypes.c_void_p),
    ("netmask", ctypes.c_void_p),
    ("broadcast", ctypes.c_void_p),
    ("data", ctypes.c_void_p),
]


def addresses() -> list[Address]:
    """Return the IPv4 and IPv6 addresses in the order of getifaddrs (Linux; elsewhere none)."""
    if not sys.platform.startswith("linux"):
        return []
    libc = ctypes.CDLL(None, use_errno=True)
    first = ctypes.POINTER(_Ifaddrs)()
    if libc.getifaddrs(ctypes.byref(first)) != 0:
        return []
    found: list[Address] = []
    try:
        entry = first
        while bool(entry):  # a null pointer ends the list
            row = entry.contents
            address = _ip(row.address)
            if address is not None:
                flags = row.flags
                found.append(
                    Address(
                        interface=row.name.decode(errors="replace"),
                        address=address,
                        prefix=_bits(_ip(row.netmask)),
                        up=bool(flags & _UP),
                        running=bool(flags & _RUNNING),
                        loopback=bool(flags & _LOOPBACK),
                    )
                )
            entry = row.next
    finally:
        libc.freeifaddrs(first)
    return found


def _ip(pointer: int | None) -> str | None:
    if not pointer:
        return None
    (family,) = struct.unpack("=H", ctypes.string_at(pointer, 2))
    if family == socket.AF_INET:
        return socket.inet_ntop(socket.AF_INET, ctypes.string_at(pointer + 4, 4))
    if family == socket.AF_INET6:
        return socket.inet_ntop(socket.AF_INET6, ctypes.string_at(pointer + 8, 16))
    return None


def _bits(netmask: str | None) -> int:
    return 0 if netmask is None else int(ipaddress.ip_address(netmask)).bit_count()


def interfaces(known: list[Address], sys_net: Path = Path("/sys/class/net")) -> list[dict[str, Any]]:
    """Return one record per interface: name, kind, state, mtu (bytes), speed (Mbit/s or None), addresses."""
    with contextlib.suppress(OSError, AttributeError):
        return [_record(index, name, known, sys_net) for index, name in socket.if_nameindex()]
    return []


def _record(index: int, name: str, known: list[Address], sys_net: Path) -> dict[str, Any]:
    folder = sys_net / name
    if said(folder / "ifindex") != str(index):
        folder = Path("/nowhere")  # a /sys of other namespaces says nothing about ours
    mine = [address for address in known if address.interface == name]
    speed = said(folder / "speed")
    return {
        "name": name,
        "kind": _kind(name, folder, mine),
        "up": any(address.up for address in mine) or said(folder / "operstate") == "up",
        "running": any(address.running for address in mine),
        "loopback": any(address.loopback for address in mine) or name == "lo",
        "state": said(folder / "operstate"),
        "mtu": _mtu(name),
        "speed": int(speed) if speed.isdigit() and 0 < int(speed) < 1 << 30 else None,
        "addresses": [address.address for address in mine],
        "networks": [f"{address.address}/{address.prefix}" for address in mine],
    }


def _kind(name: str, folder: Path, mine: list[Address]) -> str:
    if name == "lo" or any(address.loopback for address in mine):
        return "loopback"
    if _DOCKER.match(name):
        return "docker"
    if said(folder / "type") == _INFINIBAND:
        return "ipoib"
    driver = _driver(name)
    if driver in _DRIVERS:
        return _DRIVERS[driver]
    if (folder / "bridge").is_dir():
        return "bridge"
    return "physical" if (folder / "device").exists() else _DRIVERS.get(driver or "", "virtual")


def _driver(name: str) -> str | None:
    """Return what ethtool calls the driver of an interface."""
    wanted = ctypes.create_string_buffer(struct.pack("=I", _ETHTOOL_GDRVINFO) + bytes(196), 256)
    request = struct.pack("16sP", name.encode()[:15], ctypes.addressof(wanted)) + bytes(32)
    if _ask(_SIOCETHTOOL, request) is None:
        return None
    return wanted.raw[4:36].partition(b"\0")[0].decode("ascii", "replace")


def _mtu(name: str) -> int | None:
    answer = _ask(_SIOCGIFMTU, struct.pack("256s", name.encode()[:15]))
    return struct.unpack_from("=i", answer, 16)[0] if answer else None


def _ask(what: int, request: bytes) -> bytes | None:
    if not sys.platform.startswith("linux"):
        return None
    import fcntl

    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        return fcntl.ioctl(asked.fileno(), what, request)
    return None


def said(path: Path) -> str:
    """Return what a file of the kernel says; an empty text where there is none."""
    with contextlib.suppress(OSError):
        return path.read_text(encoding="ascii", errors="replace").strip()
    return ""
