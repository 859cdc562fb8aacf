"""The end that waits: it opens a port, talks to whoever knows the token, and does what that end asks for.

It connects to nothing but addresses of the host that proved itself, and sends nothing but tickets there.
"""

from __future__ import annotations

import contextlib
import queue
import secrets
import socket
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from distkb_probes.netpath import stream
from distkb_probes.netpath.here import card, own_addresses
from distkb_probes.netpath.reach import MOST_TRIES, Door, attempts, listening
from distkb_probes.netpath.wire import TICKET, BrokenTalkError, Channel, greet_caller

GREETING_S = 3.0
SILENCE_S = 20.0
MOST_DOORS = 16
_MOST_GUESTS = 64


class Listener:
    """One port, one conversation."""

    def __init__(self, port: int, token: str, facts: Mapping[str, Any], address: str = "") -> None:
        """Open the port, and later others, at one address or at all; raises OSError where that cannot be done."""
        self._address = address
        self._socket = listening(port, address)
        self.port = int(self._socket.getsockname()[1])
        self._token, self._facts = token, facts
        self._arrived: queue.Queue[tuple[Channel, str]] = queue.Queue()
        self._data_ticket = secrets.token_bytes(TICKET)
        self._guests = threading.Semaphore(_MOST_GUESTS)
        self._taken = threading.Lock()
        self.strangers = 0
        self._open: list[Door | stream.Echo] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                guest, who = self._socket.accept()
            except OSError:
                return
            if not self._guests.acquire(blocking=False):
                guest.close()
                continue
            threading.Thread(target=self._greet, args=(guest, str(who[0])), daemon=True).start()

    def _greet(self, guest: socket.socket, who: str) -> None:
        try:
            met = greet_caller(guest, self._token, GREETING_S)
            if isinstance(met, Channel):
                if self._taken.acquire(blocking=False):
                    self._arrived.put((met, bare(who)))
                    return
            elif secrets.compare_digest(met, self._data_ticket):
                stream.serve(guest)
                return
        except (BrokenTalkError, OSError):
            self.strangers += 1
        finally:
            self._guests.release()
        with contextlib.suppress(OSError):
            guest.close()

    def wait(self, within_s: float) -> tuple[Channel, str] | None:
        """Return the conversation and the address that it comes from, None where nobody came in time."""
        try:
            return self._arrived.get(timeout=within_s)
        except queue.Empty:
            return None

    def converse(self, channel: Channel, who: str) -> dict[str, Any]:
        """Answer until the other end is done; return what it says at the end. Raises BrokenTalkError."""
        allowed = {who}
        answers: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "ping": lambda _: {"now": time.time()},
            "doors": self._doors,
            "try": lambda order: self._try(order, allowed),
            "echo": self._echo,
            "datagrams": lambda order: self._datagrams(order, allowed),
        }
        while True:
            order = channel.receive(SILENCE_S)
            kind = order.get("do") if isinstance(order, dict) else None
            if kind == "hello":
                allowed |= _addresses_of(order) - own_addresses(self._facts)
                ticket = self._data_ticket.hex()
                channel.send({"card": card(self._facts), "seen_as": who, "ticket": ticket})
            elif kind == "end":
                channel.send({})
                return dict(order)
            elif kind in answers:
                try:
                    channel.send(answers[kind](order))
                except (KeyError, TypeError, ValueError) as problem:
                    raise BrokenTalkError(f"order: {problem}") from None
            else:
                raise BrokenTalkError("order")

    def _doors(self, order: dict[str, Any]) -> dict[str, Any]:
        doors = [Door(0, self._address) for _ in range(min(int(order["count"]), MOST_DOORS))]
        self._open += doors
        return {"doors": [[door.port, door.ticket.hex()] for door in doors]}

    def _try(self, order: dict[str, Any], allowed: set[str]) -> dict[str, Any]:
        rows = [(str(address), int(port), bytes.fromhex(ticket)) for address, port, ticket in order["targets"]]
        if any(address not in allowed or not 0 < port < 1 << 16 for address, port, _ in rows[:MOST_TRIES]):
            raise ValueError("address")
        return {"rows": attempts(rows)}

    def _echo(self, _order: dict[str, Any]) -> dict[str, Any]:
        ticket = secrets.token_bytes(TICKET)
        echo = stream.Echo(ticket, self._address)
        self._open.append(echo)
        return {"port": echo.port, "ticket": ticket.hex()}

    def _datagrams(self, order: dict[str, Any], allowed: set[str]) -> dict[str, Any]:
        address = str(order["address"])
        if address not in allowed:
            raise ValueError("address")
        mtu = min(max(int(order["mtu"]), 576), 1 << 16)
        return stream.datagrams(address, int(order["port"]), bytes.fromhex(order["ticket"]), mtu)

    def close(self) -> None:
        """Close the port and everything that was opened on request."""
        for thing in self._open:
            thing.close()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def bare(address: str) -> str:
    """Return an IPv4 address that an IPv6 socket shows as `::ffff:a.b.c.d` in its own form."""
    return address.removeprefix("::ffff:") if "." in address else address


def _addresses_of(order: Mapping[str, Any]) -> set[str]:
    mine = order.get("card")
    try:
        return own_addresses(mine) if isinstance(mine, dict) else set()
    except (AttributeError, TypeError):
        return set()
