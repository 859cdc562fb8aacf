"""The lists of network interfaces that NCCL and Gloo read, by their own rules.

NCCL (src/misc/socket.cc, src/os/linux.cc, src/misc/utils.cc): `^` first excludes, `=` next (or first) matches whole
names instead of prefixes, commas separate, what follows a `:` in an item is a port; a value of one character is not
read. Only interfaces that are running and have an address count. Gloo in torch takes whole names only, separated by
commas, and every one must exist.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec


class InterfaceChoice(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed NCCL_SOCKET_IFNAME."""

    names: tuple[str, ...]
    exclude: bool = False
    exact: bool = False

    def takes(self, name: str) -> bool:
        """Say whether NCCL would use an interface of this name."""
        if not self.names:
            return not self.exclude
        matches = any(name == wanted if self.exact else name.startswith(wanted) for wanted in self.names)
        return matches != self.exclude


def parse_nccl(value: str) -> InterfaceChoice | None:
    """Parse NCCL_SOCKET_IFNAME; None where NCCL does not read it and chooses by itself."""
    if len(value) <= 1:
        return None
    exclude = value.startswith("^")
    value = value[exclude:]
    exact = value.startswith("=")
    value = value[exact:]
    names = tuple(name for item in value.split(",") if (name := item.partition(":")[0]))
    return InterfaceChoice(names=names, exclude=exclude, exact=exact)


def parse_gloo(value: str) -> tuple[str, ...]:
    """Parse GLOO_SOCKET_IFNAME into the names that must all exist."""
    return tuple(value.split(",")) if value else ()


def usable(interfaces: Iterable[dict[str, Any]]) -> list[str]:
    """Return the interfaces that are running and have an address."""
    return [str(row.get("name")) for row in interfaces if row.get("running") and row.get("addresses")]
