"""How much gets through: whether large packets arrive, how large they may be, and how fast.

Data goes over TCP connections to the listener's port that carry a ticket, and for the exact size over UDP datagrams
that may not be fragmented.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Sequence
from typing import Any

from distkb_probes.netpath.reach import CONNECT_S, family_of
from distkb_probes.netpath.routes import error_name
from distkb_probes.netpath.wire import HELLO, NONCE, TICKET, BrokenTalkError, limit_segments, read_exactly

SMALL, LARGE = 400, 1 << 18
"""Bytes that fit into one packet anywhere, and bytes that fill many of the largest."""
ANSWER_S = 2.0
RATE_S, RATE_MOST = 0.5, 1 << 28
"""Seconds and bytes for which the rate is measured, in each direction."""
_MSS_LADDER = (8500, 1440, 1400, 1360, 1320, 1240, 1160, 968)
_LADDER = (9000, 8960, 4096, 1500, 1492, 1480, 1460, 1450, 1440, 1420, 1400, 1380, 1350, 1320, 1300, 1280, 1200, 1000)
_UDP_WAIT_S = 0.8
_IP_MTU_DISCOVER, _IPV6_MTU_DISCOVER, _PMTUDISC_PROBE = 10, 23, 3
_CHUNK = 1 << 18


def connect(address: str, port: int, ticket: bytes, segments: int | None = None) -> socket.socket:
    """Open a data connection to the listener's port; raises OSError or BrokenTalkError."""
    info = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)[0]
    made = socket.socket(info[0], info[1])
    try:
        if segments is not None:
            limit_segments(made, segments)
        made.settimeout(CONNECT_S)
        made.connect(info[4])
        # What the listener says first is for those who want to talk.
        read_exactly(made, len(HELLO) + NONCE, time.monotonic() + CONNECT_S)
        made.sendall(b"D" + ticket)
    except (OSError, BrokenTalkError):
        made.close()
        raise
    return made


def serve(made: socket.socket) -> None:
    """The listener's side of a data connection: take what comes and say so, or send what is asked for."""
    with made, contextlib.suppress(OSError, BrokenTalkError, struct.error):
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            order = read_exactly(made, 9, time.monotonic() + 15.0)
            kind, count = order[:1], min(struct.unpack(">Q", order[1:])[0], RATE_MOST)
            if kind == b"U":
                read_exactly_counting(made, count, time.monotonic() + 15.0)
                made.sendall(b"k")
            elif kind == b"W":
                _send(made, count, time.monotonic() + 15.0)
            else:
                return


def read_exactly_counting(made: socket.socket, count: int, until: float) -> None:
    """Read and drop `count` bytes; raises BrokenTalkError."""
    room = bytearray(_CHUNK)
    while count > 0:
        left = until - time.monotonic()
        if left <= 0:
            raise BrokenTalkError("timeout")
        made.settimeout(left)
        try:
            got = made.recv_into(room, min(count, _CHUNK))
        except TimeoutError:
            raise BrokenTalkError("timeout") from None
        if not got:
            raise BrokenTalkError("closed")
        count -= got


def _send(made: socket.socket, count: int, until: float) -> None:
    block = bytes(_CHUNK)
    while count > 0:
        made.settimeout(max(0.01, until - time.monotonic()))
        made.sendall(block[: min(count, _CHUNK)])
        count -= min(count, _CHUNK)


def exchange(made: socket.socket, way: str, count: int, within_s: float) -> float | None:
    """Move `count` bytes `up` (to the listener) or `down`; return the seconds, None where it stalled."""
    began = time.monotonic()
    until = began + within_s
    try:
        if way == "up":
            made.settimeout(within_s)
            made.sendall(b"U" + struct.pack(">Q", count))
            _send(made, count, until)
            read_exactly(made, 1, until)
        else:
            made.settimeout(within_s)
            made.sendall(b"W" + struct.pack(">Q", count))
            read_exactly_counting(made, count, until)
    except (OSError, BrokenTalkError):
        return None
    return time.monotonic() - began


def passes(address: str, port: int, ticket: bytes, way: str, segments: int | None = None) -> dict[str, Any]:
    """Whether small and large amounts get through in one direction: `small`, `large` (true, false), `mss`, `pmtu`."""
    row: dict[str, Any] = {"way": way, "small": False, "large": False, "mss": None, "pmtu": None, "error": None}
    try:
        with connect(address, port, ticket, segments) as made:
            row["small"] = exchange(made, way, SMALL, ANSWER_S) is not None
            if row["small"]:
                row["large"] = exchange(made, way, LARGE, ANSWER_S) is not None
            row |= _tcp_info(made)
    except BrokenTalkError as broken:
        row["error"] = str(broken)
    except OSError as problem:
        row["error"] = error_name(problem)
    return row


def _tcp_info(made: socket.socket) -> dict[str, Any]:
    """Return what the kernel uses: segment size of this end (bytes of data per packet) and the path's MTU."""
    with contextlib.suppress(OSError, AttributeError, struct.error):
        info = made.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
        return {"mss": struct.unpack_from("=I", info, 16)[0], "pmtu": struct.unpack_from("=I", info, 60)[0]}
    return {}


def largest_segment(address: str, port: int, ticket: bytes, way: str) -> int | None:
    """Return the largest of some segment sizes with which large amounts get through, None where none does."""
    found: list[int] = []

    def one(size: int) -> None:
        if passes(address, port, ticket, way, size)["large"]:
            found.append(size)

    threads = [threading.Thread(target=one, args=(size,), daemon=True) for size in _MSS_LADDER]
    for thread in threads:
        thread.start()
    until = time.monotonic() + 2 * ANSWER_S
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    return max(found, default=None)


def rate(address: str, port: int, ticket: bytes, way: str) -> float | None:
    """Return bytes per second of one TCP connection over half a second or so; None where nothing could be measured."""
    try:
        with connect(address, port, ticket) as made:
            first = exchange(made, way, 1 << 20, ANSWER_S)
            if not first:
                return None
            count = int(min(RATE_MOST, max(1 << 20, (1 << 20) / first * RATE_S)))
            taken = exchange(made, way, count, 2 * ANSWER_S)
            return count / taken if taken else None
    except (OSError, BrokenTalkError):
        return None


class Echo:
    """A UDP port that answers datagrams that carry the ticket with their size, never with more than it was sent."""

    def __init__(self, ticket: bytes, address: str = "") -> None:
        if address:
            self._socket = socket.socket(family_of(address), socket.SOCK_DGRAM)
            self._socket.bind((address, 0))
            self._start(ticket)
            return
        try:
            self._socket = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
            self._socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            self._socket.bind(("", 0))
        except OSError:
            self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._socket.bind(("", 0))
        self._start(ticket)

    def _start(self, ticket: bytes) -> None:
        self.port = int(self._socket.getsockname()[1])
        self._ticket = ticket
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                data, who = self._socket.recvfrom(1 << 16)
                if len(data) >= TICKET + 4 and data[:TICKET] == self._ticket:
                    self._socket.sendto(self._ticket + struct.pack(">I", len(data)), who)

    def close(self) -> None:
        """Stop answering."""
        self._socket.close()


def datagrams(address: str, port: int, ticket: bytes, mtu: int) -> dict[str, Any]:
    """Send datagrams that may not be fragmented, up to packets of `mtu` bytes; `passed` and `sent` are packet sizes."""
    answer: dict[str, Any] = {"sent": [], "passed": [], "error": None}
    try:
        family, kind, _, _, target = socket.getaddrinfo(
            address, port, type=socket.SOCK_DGRAM, flags=socket.AI_NUMERICHOST
        )[0]
        six = family == socket.AF_INET6
        headers = 48 if six else 28
        sizes = sorted({size for size in (*_LADDER, mtu) if size <= mtu})
        with socket.socket(family, kind) as sock:
            level, option = (socket.IPPROTO_IPV6, _IPV6_MTU_DISCOVER) if six else (socket.IPPROTO_IP, _IP_MTU_DISCOVER)
            sock.setsockopt(level, option, _PMTUDISC_PROBE)
            sock.connect(target)
            for _ in range(2):  # UDP may lose one
                missing = [size for size in sizes if size not in answer["passed"]]
                answer["sent"] = sorted({*answer["sent"], *_send_sizes(sock, missing, headers, ticket)})
                _collect(sock, answer["passed"], len(sizes), headers, ticket)
                if len(answer["passed"]) == len(sizes):
                    break
    except OSError as problem:
        answer["error"] = error_name(problem)
    answer["passed"] = sorted(set(answer["passed"]))
    return answer


def _send_sizes(sock: socket.socket, sizes: Sequence[int], headers: int, ticket: bytes) -> list[int]:
    sent = []
    for size in sizes:
        with contextlib.suppress(OSError):  # EMSGSIZE: larger than the interface takes
            sock.send(ticket + bytes(size - headers - TICKET))
            sent.append(size)
    return sent


def _collect(sock: socket.socket, passed: list[int], wanted: int, headers: int, ticket: bytes) -> None:
    until = time.monotonic() + _UDP_WAIT_S
    while len(set(passed)) < wanted and (left := until - time.monotonic()) > 0:
        sock.settimeout(left)
        try:
            data = sock.recv(64)
        except OSError:
            return
        if len(data) == TICKET + 4 and data[:TICKET] == ticket:
            passed.append(struct.unpack(">I", data[TICKET:])[0] + headers)
