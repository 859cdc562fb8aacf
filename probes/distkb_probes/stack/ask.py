"""Asks a process for its stacks at the socket of `distkb_probes.serve`: no ptrace, no signal."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import time
from dataclasses import dataclass
from typing import Any

from distkb_probes.environment.processes import PROC, own_number
from distkb_probes.serve import directory
from distkb_probes.stack.fault import threads_of

ANSWER_S = 2.0
"""Seconds for an answer: Python's own thread has the GIL within 5 ms of asking, unless something keeps it."""
_MOST_BYTES = 16 << 20
MOST_RECORDER = 32 << 20
"""Bytes of all flight recorders in one answer."""
_FLIGHT_RECORDER = ("fr_trace_json", "dump_nccl_trace_json")


@dataclass(frozen=True)
class Answer:
    """What a socket said: the threads, or a code for why not."""

    threads: list[dict[str, Any]] | None
    code: str = ""
    """`absent`, `denied`, `stranger` (another process answers there), `silent`, `gil` (alive, and something holds the
    GIL), `many-threads`, `error`."""


class _NoAnswerError(Exception):
    """The socket cannot be asked; the text is the code."""


def stacks(pid: int, uid: int, limit_s: float = ANSWER_S) -> Answer:
    """Return the stacks of a process of a user."""
    try:
        text = _post(pid, uid, "dump_traceback", limit_s)
    except _NoAnswerError as problem:
        code = str(problem)
        if code == "silent":
            with contextlib.suppress(_NoAnswerError):
                _post(pid, uid, "ping", min(limit_s, 0.5))
                code = "gil"
        return Answer(None, code)
    threads = threads_of(text.decode("utf-8", "replace"))
    return Answer(threads, "" if threads is not None else "many-threads")


def flight_recorder(pid: int, uid: int, limit_s: float = ANSWER_S, most: int = MOST_RECORDER) -> dict[str, Any] | None:
    """Return what the flight recorder of a process holds; None where there is none, or more than `most` bytes."""
    for name in _FLIGHT_RECORDER:
        with contextlib.suppress(_NoAnswerError, ValueError, RecursionError):
            said = _post(pid, uid, name, limit_s)
            trace = json.loads(said) if len(said) <= most else None
            if isinstance(trace, dict):
                return trace
    return None


def _post(pid: int, uid: int, handler: str, limit_s: float) -> bytes:
    """Return the body of an answer. Raises _NoAnswerError."""
    until = time.monotonic() + limit_s
    try:
        with _connected(pid, uid, limit_s) as server:
            server.sendall(f"POST /handler/{handler} HTTP/1.0\r\nHost: rank\r\nContent-Length: 0\r\n\r\n".encode())
            said, ended = bytearray(), False
            while not ended and len(said) < _MOST_BYTES and (left := until - time.monotonic()) > 0:
                server.settimeout(left)
                more = server.recv(1 << 16)
                said += more
                ended = not more
    except TimeoutError:
        raise _NoAnswerError("silent") from None
    except OSError:
        raise _NoAnswerError("error") from None
    if not ended and len(said) < _MOST_BYTES:
        raise _NoAnswerError("silent")  # it drips
    head, _, body = bytes(said).partition(b"\r\n\r\n")
    if b" 200 " not in head.split(b"\r\n", 1)[0]:
        raise _NoAnswerError("error" if head else "denied")
    return body


def _connected(pid: int, uid: int, limit_s: float) -> socket.socket:
    code = ""
    name = f"{own_number(pid)}.sock"
    for place in (PROC / str(pid) / "root" / str(directory(uid)).lstrip("/") / name, directory(uid) / name):
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        server.settimeout(limit_s)
        try:
            server.connect(str(place))
        except PermissionError:
            server.close()
            code = "denied"
        except OSError as problem:
            server.close()
            if isinstance(problem, (TimeoutError, BlockingIOError)):
                raise _NoAnswerError("silent") from None
            code = "absent"
        else:
            # The kernel says who listens: what answers must be this very process. 0 is one of another namespace.
            peer, owner, _ = struct.unpack("3i", server.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            if owner == uid and peer in (pid, 0):
                return server
            server.close()
            code = "stranger"
    raise _NoAnswerError(code)
