"""What the names of this run resolve to, with a limit on the time that the resolver takes."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from typing import Any

RESOLVE_S = 5.0
Resolver = Callable[[str], list[str]]


def system_resolver(name: str) -> list[str]:
    """Return the addresses of a name in the system's order (getaddrinfo, as torch asks). Raises OSError."""
    found: list[str] = []
    for *_, address in socket.getaddrinfo(name, None, proto=socket.IPPROTO_TCP):
        if str(address[0]) not in found:
            found.append(str(address[0]))
    return found


def resolve(name: str, resolver: Resolver = system_resolver, limit_s: float = RESOLVE_S) -> dict[str, Any]:
    """Resolve one name; `error` is `unknown` for a name without addresses and `slow` past the limit."""
    answer: dict[str, Any] = {"name": name, "addresses": [], "error": None}
    done = threading.Event()

    def ask() -> None:
        try:
            answer["addresses"] = resolver(name)
        except (OSError, UnicodeError) as problem:
            answer["error"], answer["detail"] = "unknown", str(problem)
        done.set()

    began = time.monotonic()
    threading.Thread(target=ask, daemon=True).start()
    if not done.wait(limit_s):
        return {"name": name, "addresses": [], "error": "slow", "seconds": round(limit_s, 3)}
    return {**answer, "seconds": round(time.monotonic() - began, 3)}
