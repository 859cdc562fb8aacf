"""Whether ports can be reached: doors that one end opens, and the other end's tries to get through them."""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import socket
import threading
import time
from collections.abc import Sequence
from typing import Any

from distkb_probes.netpath.routes import error_name
from distkb_probes.netpath.wire import TICKET, BrokenTalkError, read_exactly

CONNECT_S = 3.0
"""Seconds for one try: the kernel sends SYN at 0, 1 and 3 s, so that one lost packet is no failure."""
MOST_TRIES = 48


def listening(port: int, address: str = "") -> socket.socket:
    """Open a port (0: any) at one address, or without one for IPv4 and IPv6, or IPv4 alone; raises OSError."""
    if address:
        return _listening(family_of(address), port, address)
    try:
        return _listening(socket.AF_INET6, port)
    except OSError:
        return _listening(socket.AF_INET, port)


def family_of(address: str) -> socket.AddressFamily:
    """Return the family of an address or a name; raises OSError for a name that nobody knows."""
    return socket.getaddrinfo(address, None, type=socket.SOCK_STREAM)[0][0]


def _listening(family: socket.AddressFamily, port: int, address: str = "") -> socket.socket:
    opened = socket.socket(family, socket.SOCK_STREAM)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(bool(address)))
        opened.bind((address, port))
        opened.listen(16)
    except OSError:
        opened.close()
        raise
    return opened


class Door:
    """A port that lets in whoever has the ticket, says so, and closes; strangers get nothing."""

    def __init__(self, port: int = 0, address: str = "") -> None:
        self._socket = listening(port, address)
        self.port = int(self._socket.getsockname()[1])
        self.ticket = secrets.token_bytes(TICKET)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                guest, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._admit, args=(guest,), daemon=True).start()

    def _admit(self, guest: socket.socket) -> None:
        with guest, contextlib.suppress(OSError, BrokenTalkError):
            if read_exactly(guest, TICKET, time.monotonic() + CONNECT_S) == self.ticket:
                guest.sendall(_answer(self.ticket))

    def close(self) -> None:
        """Stop letting anybody in."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def _answer(ticket: bytes) -> bytes:
    return hashlib.sha256(ticket).digest()[:TICKET]


def attempt(address: str, port: int, ticket: bytes | None, within_s: float = CONNECT_S) -> dict[str, Any]:
    """Try one port; `outcome` is `ok`, errno's name, or `stranger` where somebody without our ticket's answer is.

    Without a ticket, only the connection is made and closed again.
    """
    row: dict[str, Any] = {"address": address, "port": port, "outcome": "ok"}
    began = time.monotonic()
    try:
        with socket.create_connection((address, port), timeout=within_s) as made:
            row["seconds"] = round(time.monotonic() - began, 6)
            row["from"] = str(made.getsockname()[0])
            if ticket is not None:
                made.sendall(ticket)
                if read_exactly(made, TICKET, time.monotonic() + within_s) != _answer(ticket):
                    row["outcome"] = "stranger"
    except BrokenTalkError as broken:
        row["outcome"] = "ETIMEDOUT" if str(broken) == "timeout" else "stranger"
    except (OSError, UnicodeError, OverflowError) as problem:
        row["outcome"] = error_name(problem) if isinstance(problem, OSError) else "EINVAL"
    return row


def attempts(targets: Sequence[tuple[str, int, bytes]]) -> list[dict[str, Any]]:
    """Try all targets at the same time, in about as long as one takes; in their order."""
    chosen = targets[:MOST_TRIES]
    rows: list[dict[str, Any]] = [
        {"address": address, "port": port, "outcome": "ETIMEDOUT"} for address, port, _ in chosen
    ]

    def one(index: int) -> None:
        rows[index] = attempt(*chosen[index])

    threads = [threading.Thread(target=one, args=(index,), daemon=True) for index in range(len(chosen))]
    for thread in threads:
        thread.start()
    until = time.monotonic() + 2 * CONNECT_S
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    return rows
