"""How the two ends talk: short authenticated frames over one TCP connection.

The listener's token is the key. Each end proves that it knows it before the other says anything of substance, and
every frame carries a code over its direction and its number: a stranger can neither take part nor put words in.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import socket
import struct
import time
from typing import Any

NONCE, TICKET = 32, 16
SMALL_MSS = 536
"""The control connection keeps its segments this small, so that it works where large packets vanish."""
HELLO = b"distkb-network/1"
_MOST_FRAME = 1 << 16
_TCP_MAXSEG = 2


class BrokenTalkError(Exception):
    """The other end is gone, does not know the token, or does not speak as agreed."""


def limit_segments(sock: socket.socket, size: int) -> None:
    """Limit the segments of a connection that is about to be made, in both directions, where the system allows it."""
    try:
        sock.setsockopt(socket.IPPROTO_TCP, _TCP_MAXSEG, size)
    except OSError:
        return


def read_exactly(sock: socket.socket, count: int, until: float) -> bytes:
    """Read `count` bytes before the monotonic time `until`; raises BrokenTalkError."""
    data = bytearray()
    while len(data) < count:
        left = until - time.monotonic()
        if left <= 0:
            raise BrokenTalkError("timeout")
        sock.settimeout(left)
        try:
            piece = sock.recv(min(count - len(data), 1 << 16))
        except TimeoutError:
            raise BrokenTalkError("timeout") from None
        except OSError as problem:
            raise BrokenTalkError(str(problem)) from None
        if not piece:
            raise BrokenTalkError("closed")
        data += piece
    return bytes(data)


class Channel:
    """One end of the authenticated connection."""

    def __init__(self, sock: socket.socket, key: bytes, mine: bytes, theirs: bytes) -> None:
        self.sock = sock
        self._key, self._mine, self._theirs = key, mine, theirs
        self._sent = self._received = 0
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, message: Any, within_s: float = 5.0) -> None:
        """Send anything that JSON can hold, up to 64 KiB; raises BrokenTalkError."""
        data = json.dumps(message).encode()
        code = _code(self._key, self._mine, self._sent.to_bytes(8, "big"), data)
        self._sent += 1
        self.sock.settimeout(within_s)
        try:
            self.sock.sendall(struct.pack(">I", len(data)) + code + data)
        except OSError as problem:
            raise BrokenTalkError(str(problem)) from None

    def receive(self, within_s: float = 5.0) -> Any:
        """Return the next message; raises BrokenTalkError for none in time and for one that is not the other end's."""
        until = time.monotonic() + within_s
        (size,) = struct.unpack(">I", read_exactly(self.sock, 4, until))
        if size > _MOST_FRAME:
            raise BrokenTalkError("size")
        code = read_exactly(self.sock, 32, until)
        data = read_exactly(self.sock, size, until)
        if not hmac.compare_digest(code, _code(self._key, self._theirs, self._received.to_bytes(8, "big"), data)):
            raise BrokenTalkError("code")
        self._received += 1
        try:
            return json.loads(data)
        except ValueError:
            raise BrokenTalkError("json") from None


def _code(*parts: bytes) -> bytes:
    key, *rest = parts
    return hmac.new(key, b"\0".join(rest), hashlib.sha256).digest()


def greet_caller(sock: socket.socket, token: str, within_s: float) -> Channel | bytes:
    """The listener's side: return the channel, or the ticket of a connection that is not for talking.

    Raises BrokenTalkError for everybody else. The caller has to prove itself first.
    """
    until = time.monotonic() + within_s
    ours = secrets.token_bytes(NONCE)
    sock.settimeout(within_s)
    try:
        sock.sendall(HELLO + ours)
    except OSError as problem:
        raise BrokenTalkError(str(problem)) from None
    kind = read_exactly(sock, 1, until)
    if kind == b"D":
        return read_exactly(sock, TICKET, until)
    if kind != b"C":
        raise BrokenTalkError("kind")
    theirs = read_exactly(sock, NONCE, until)
    proof = read_exactly(sock, 32, until)
    secret = token.encode()
    if not hmac.compare_digest(proof, _code(secret, b"caller", ours, theirs)):
        raise BrokenTalkError("token")
    sock.sendall(_code(secret, b"listener", ours, theirs))
    return Channel(sock, _code(secret, b"key", ours, theirs), b"listener", b"caller")


def greet_listener(sock: socket.socket, token: str, within_s: float) -> Channel:
    """The caller's side.

    Raises BrokenTalkError with `token` where the listener has another one, `foreign` where it is no listener of ours.
    """
    until = time.monotonic() + within_s
    try:
        hello = read_exactly(sock, len(HELLO) + NONCE, until)
    except BrokenTalkError:
        raise BrokenTalkError("foreign") from None
    if not hello.startswith(HELLO):
        raise BrokenTalkError("foreign")
    theirs, ours = hello[len(HELLO) :], secrets.token_bytes(NONCE)
    secret = token.encode()
    try:
        sock.sendall(b"C" + ours + _code(secret, b"caller", theirs, ours))
        proof = read_exactly(sock, 32, until)
    except (OSError, BrokenTalkError):
        raise BrokenTalkError("token") from None
    if not hmac.compare_digest(proof, _code(secret, b"listener", theirs, ours)):
        raise BrokenTalkError("token")
    return Channel(sock, _code(secret, b"key", theirs, ours), b"caller", b"listener")
