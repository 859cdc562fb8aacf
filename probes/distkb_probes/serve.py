"""Lets this process's stacks be read without ptrace and without a signal: `serve()`, standard library only.

    from distkb_probes import live
    live.serve()                           # or DISTKB_SERVE=1 with the tracer

A unix socket, `/tmp/distkb-<uid>/<pid>.sock`, mode 0600 in a directory of mode 0700, speaks the protocol of torch's
worker server: `POST /handler/<name>` with the names that `GET /handler/` lists, among them `dump_traceback` (the stacks
of all threads, as faulthandler writes them), `fr_trace_json` (the flight recorder) and `ping`. Where torch.distributed
is loaded and has a worker server (torch 2.4 and later), that one answers: it is a thread of C++, so that the flight
recorder and `ping` answer also while something holds the GIL. Elsewhere, and until torch is loaded, a thread here does.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import faulthandler
import json
import os
import socket
import stat
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_MOST_HEAD = 8192
_PATIENCE_S = 2.0
"""Seconds that one caller may take: the next one waits for it."""
_LOOK_S = 1.0
"""Seconds between two looks whether torch has come."""
_READY_S = 60.0
"""Seconds within which a socket that refuses may still be between its making and its listening."""
_HANDLERS = ("_dump_fr_trace_json", "_dump_nccl_trace_json")
"""Names of the flight recorder's JSON in torch's binding: since 2.10 for all backends, before for NCCL."""


def directory(uid: int) -> Path:
    """Return where a user's sockets are. Not TMPDIR: who asks must find it without the environment of the rank."""
    return Path(f"/tmp/distkb-{uid}")  # noqa: S108 - its owner and mode are checked


def serve() -> str | None:
    """Offer this process's stacks to its own user; returns the socket's path, None where that is not possible.

    A second call changes nothing. Nothing is offered in the workers of a DataLoader.
    """
    global _serving  # noqa: PLW0603 - one socket per process
    if _serving is None and not _is_loader_worker():
        with _lock:
            if _serving is None:
                try:
                    _serving = _Serving(_prepared() / f"{os.getpid()}.sock")
                except (OSError, AttributeError) as problem:
                    # Training must not end because nobody can look at it.
                    sys.stderr.write(f"distkb: live.serve: {problem}\n")
    return None if _serving is None else str(_serving.path)


def _prepared() -> Path:
    """Make the directory, or make sure that it is this user's alone: /tmp is everybody's."""
    folder = directory(os.getuid())
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    state = folder.lstat()
    if not stat.S_ISDIR(state.st_mode) or state.st_uid != os.getuid() or stat.S_IMODE(state.st_mode) & 0o077:
        raise PermissionError(f"{folder} is not a directory of this user alone (mode 0700)")
    for old in folder.glob("*.sock*"):
        if _is_dead(old):
            with contextlib.suppress(OSError):
                old.unlink()
    return folder


def _is_dead(path: Path) -> bool:
    """Whether a socket's process is gone: nobody takes its calls, and it is not just being made ready to take them."""
    with contextlib.suppress(OSError):
        if time.time() - path.lstat().st_mtime < _READY_S:
            return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as caller:
        try:
            caller.connect(str(path))
        except ConnectionRefusedError:
            return True
        except OSError:
            pass
    return False


class _Serving:
    """The socket of this process: torch's worker server once there is one, a thread until then."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._pid = os.getpid()
        self._listener: socket.socket | None = None
        atexit.register(self._remove)
        os.register_at_fork(after_in_child=self._forked)
        if _has_worker_server():
            self._through_torch()
            return
        self._listener = listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)

        def bind(new: Path) -> None:
            listener.bind(str(new))
            listener.listen(16)

        self._placed(bind)
        listener.settimeout(_LOOK_S)
        threading.Thread(target=self._answer_all, args=(listener,), name="distkb-serve", daemon=True).start()

    def _placed(self, bind: Callable[[Path], None]) -> None:
        """Bind beside the path and move it there, so that nobody finds a socket that is not ready."""
        new = self.path.with_suffix(".new.sock")
        with contextlib.suppress(FileNotFoundError):
            new.unlink()
        bind(new)
        new.chmod(0o600)
        new.rename(self.path)

    def _through_torch(self) -> None:
        module: Any = sys.modules["torch._C._distributed_c10d"]

        def bind(new: Path) -> None:
            # Kept for ever: its destructor would wait for callers, and print, when the program ends.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(module._WorkerServer(str(new))))  # noqa: SLF001

        self._placed(bind)

    def _answer_all(self, listener: socket.socket) -> None:
        while self._listener is listener:
            try:
                caller, _ = listener.accept()
            except TimeoutError:
                if _has_worker_server():
                    with contextlib.suppress(Exception):
                        self._through_torch()
                        listener.close()
                        return
                continue
            except OSError:
                return
            with caller, contextlib.suppress(Exception):
                caller.settimeout(_PATIENCE_S)
                if _is_friend(caller):
                    caller.sendall(_reply(*_answer(_asked(caller))))

    def _forked(self) -> None:
        """Be silent in a child: it is a loader's worker or a helper, not this rank."""
        global _serving  # noqa: PLW0603
        if _serving is self:
            if self._listener is not None:
                self._listener.close()
            self._listener = _serving = None

    def _remove(self) -> None:
        if os.getpid() == self._pid:
            with contextlib.suppress(OSError):
                self.path.unlink()


_lock = threading.Lock()
_serving: _Serving | None = None


def _has_worker_server() -> bool:
    """Whether torch.distributed is loaded, to its end, and its worker server can write stacks."""
    module: Any = sys.modules.get("torch._C._distributed_c10d")
    loading = getattr(getattr(sys.modules.get("torch.distributed"), "__spec__", None), "_initializing", True)
    if module is None or loading or not hasattr(module, "_WorkerServer"):
        return False
    names = getattr(module, "_get_handler_names", lambda: ["dump_traceback"])
    return "dump_traceback" in names()


def _is_friend(caller: socket.socket) -> bool:
    """Whether the caller is of this user, or root: the kernel says so, whatever the modes have become."""
    size = struct.calcsize("3i")
    _, uid, _ = struct.unpack("3i", caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return uid in (os.getuid(), 0)


def _asked(caller: socket.socket) -> str:
    """Return the path of the request; a body is not read."""
    head = b""
    while b"\r\n\r\n" not in head and len(head) < _MOST_HEAD and (more := caller.recv(4096)):
        head += more
    words = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
    return words[1] if len(words) > 1 else ""


def _answer(path: str) -> tuple[int, str, bytes]:
    if path == "/handler/":
        return 200, "application/json", json.dumps(["dump_traceback", "ping", *_recorders()]).encode()
    if path == "/handler/ping":
        return 200, "text/plain", b"pong"
    if path == "/handler/dump_traceback":
        return 200, "text/plain", _stacks()
    if path == "/handler/fr_trace_json" and _recorders():
        module: Any = sys.modules["torch._C._distributed_c10d"]
        dump = next(getattr(module, name) for name in _HANDLERS if hasattr(module, name))
        said = dump()
        return 200, "application/json", said if isinstance(said, bytes) else str(said).encode()
    return 404, "text/plain", b"no such handler"


def _recorders() -> list[str]:
    module = sys.modules.get("torch._C._distributed_c10d")
    return ["fr_trace_json"] if any(hasattr(module, name) for name in _HANDLERS) else []


def _stacks() -> bytes:
    """Return what faulthandler writes of all threads; it needs a file of the system's."""
    with tempfile.TemporaryFile() as file:
        faulthandler.dump_traceback(file=file, all_threads=True)
        file.seek(0)
        return file.read()


def _reply(code: int, kind: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {code} -\r\nConnection: close\r\nContent-Length: {len(body)}\r\nContent-Type: {kind}\r\n\r\n"
    return head.encode() + body


def _is_loader_worker() -> bool:
    process = sys.modules.get("multiprocessing.process")
    return process is not None and bool(process.current_process().daemon)
