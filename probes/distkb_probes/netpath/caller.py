"""The end that connects: it leads the conversation, measures in both directions, and tells the listener the outcome."""

from __future__ import annotations

import secrets
import socket
import statistics
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from distkb_probes.netpath import stream
from distkb_probes.netpath.between import LIBRARIES, mtu_of
from distkb_probes.netpath.choice import is_loopback
from distkb_probes.netpath.here import card, own_addresses
from distkb_probes.netpath.listener import bare
from distkb_probes.netpath.reach import CONNECT_S, Door, attempts
from distkb_probes.netpath.routes import error_name
from distkb_probes.netpath.wire import SMALL_MSS, TICKET, BrokenTalkError, Channel, greet_listener, limit_segments

DOORS, PINGS = 5, 12
TRIES_S = 2 * CONNECT_S + 2.0
Tell = Callable[[str], None]


def reach_listener(addresses: Sequence[str], port: int) -> tuple[socket.socket | None, list[dict[str, Any]]]:
    """Connect to the first address that answers; return the connection and one row for each try."""
    rows = []
    for address in addresses:
        began = time.monotonic()
        row: dict[str, Any] = {"address": address, "port": port, "outcome": "ok"}
        rows.append(row)
        made: socket.socket | None = None
        try:
            family, kind, _, _, target = socket.getaddrinfo(
                address, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST
            )[0]
            made = socket.socket(family, kind)
            limit_segments(made, SMALL_MSS)
            made.settimeout(CONNECT_S + 1.0)
            made.connect(target)
        except OSError as problem:
            row["outcome"] = error_name(problem)
            if made is not None:
                made.close()
            continue
        row["seconds"] = round(time.monotonic() - began, 6)
        return made, rows
    return None, rows


class Caller:
    """The conversation with a listener. What was measured is in `seen`, also where the talk broke off."""

    def __init__(self, sock: socket.socket, token: str, facts: Mapping[str, Any], tell: Tell) -> None:
        """Prove who we are; raises BrokenTalkError (`token`, `foreign`)."""
        self._channel: Channel = greet_listener(sock, token, 5.0)
        self._facts, self._tell = facts, tell
        peer, mine = sock.getpeername(), sock.getsockname()
        self._port = int(peer[1])
        self.seen: dict[str, Any] = {"address": bare(str(mine[0])), "peer": bare(str(peer[0])), "port": self._port}
        self.card: dict[str, Any] = {}
        self._ticket = b""

    def _ask(self, within_s: float = 5.0, **order: Any) -> dict[str, Any]:
        self._channel.send(order)
        answer = self._channel.receive(within_s)
        if not isinstance(answer, dict):
            raise BrokenTalkError("answer")
        return answer

    def measure(self) -> None:
        """Do everything in about ten seconds; raises BrokenTalkError where the other end is lost on the way."""
        answer = self._ask(do="hello", card=card(self._facts))
        self.card, self._ticket = answer["card"], bytes.fromhex(answer["ticket"])
        self.seen["seen_as"] = answer["seen_as"]
        self._pings()
        self._tell("ports")
        self._ports()
        self._tell("sizes")
        self._streams()
        self._datagrams()
        if all(row["large"] for row in self.seen["streams"]):
            self._tell("rate")
            rates = {way: stream.rate(self.seen["peer"], self._port, self._ticket, way) for way in ("up", "down")}
            self.seen["rates"] = rates

    def _pings(self) -> None:
        trips, clocks = [], []
        for _ in range(PINGS):
            left, began = time.time(), time.monotonic()
            now = float(self._ask(do="ping")["now"])
            trip = time.monotonic() - began
            trips.append(trip)
            clocks.append((trip, now - (left + trip / 2)))
        self.seen["round_trip_s"] = min(trips)
        self.seen["round_trip_median_s"] = statistics.median(trips)
        # The quickest exchange leaves the least room for a wrong guess.
        self.seen["clock_s"] = round(min(clocks)[1], 3)

    def _ports(self) -> None:
        theirs = self._ask(do="doors", count=DOORS)["doors"]
        mine = [Door() for _ in range(DOORS)]
        same: Door | None = None
        try:
            same = Door(self._port)
        except OSError:
            self.seen["same_port"] = "taken"
        try:
            back = _targets([(door.port, door.ticket) for door in mine], self.seen["address"], self._facts, self.card)
            if same is not None:
                back.append(("port", self.seen["address"], same.port, same.ticket))
            self._channel.send({"do": "try", "targets": [[a, p, t.hex()] for _, a, p, t in back]})
            to = _targets([(port, bytes.fromhex(t)) for port, t in theirs], self.seen["peer"], self.card, self._facts)
            rows = attempts([target[1:] for target in to])
            self.seen["to"] = [{**row, "role": target[0]} for row, target in zip(rows, to, strict=True)]
            answer = self._channel.receive(TRIES_S)
            pairs = zip(answer["rows"], back, strict=False)
            self.seen["back"] = [{**row, "role": target[0]} for row, target in pairs]
        finally:
            for door in (*mine, *([same] if same else [])):
                door.close()

    def _streams(self) -> None:
        rows: dict[str, dict[str, Any]] = {}

        def one(way: str) -> None:
            row = stream.passes(self.seen["peer"], self._port, self._ticket, way)
            if row["small"] and not row["large"]:
                row["segment"] = stream.largest_segment(self.seen["peer"], self._port, self._ticket, way)
            rows[way] = row

        threads = [threading.Thread(target=one, args=(way,), daemon=True) for way in ("up", "down")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(4 * stream.ANSWER_S + CONNECT_S)
        self.seen["streams"] = [rows[way] for way in ("up", "down") if way in rows]

    def _datagrams(self) -> None:
        peer, address = self.seen["peer"], self.seen["address"]
        found: dict[str, Any] = {}
        answer = self._ask(do="echo")
        ticket = secrets.token_bytes(TICKET)
        echo = stream.Echo(ticket)
        try:
            mtu = mtu_of(self.card, peer) or 1500
            order = {"address": self.seen["seen_as"], "port": echo.port, "ticket": ticket.hex(), "mtu": mtu}
            self._channel.send({"do": "datagrams", **order})
            own = mtu_of(card(self._facts), address) or 1500
            found["up"] = stream.datagrams(peer, int(answer["port"]), bytes.fromhex(answer["ticket"]), own)
            found["down"] = self._channel.receive(TRIES_S)
        finally:
            echo.close()
        self.seen["datagrams"] = found

    def end(self, document: Mapping[str, Any]) -> None:
        """Tell the listener what was found."""
        self._ask(do="end", **document)


def _targets(
    doors: Sequence[tuple[int, bytes]], address: str, owner: Mapping[str, Any], visitor: Mapping[str, Any]
) -> list[tuple[str, str, int, bytes]]:
    """Return (role, address, port, ticket) of what the visitor should try on the owner's host."""
    targets = [("door", address, port, ticket) for port, ticket in doors]
    port, ticket = doors[0]
    elsewhere = own_addresses(visitor)
    for library in LIBRARIES:
        for row in owner[library]["interfaces"]:
            chosen = str(row["address"])
            # Loopback and an address that both have would lead the visitor to itself; fe80:: needs a scope.
            if chosen in elsewhere or is_loopback(chosen) or chosen.startswith("fe80:") or chosen == address:
                continue
            targets.append((library, chosen, port, ticket))
    return targets
