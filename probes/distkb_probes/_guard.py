"""Runs one probe so that nothing of it is left behind, whatever happens to it or to the program that asked for it.

`python _guard.py SECONDS COMMAND...` reads the request, one line, from stdin and hands it to the command. After that
stdin is the lifeline: when it closes, the one who asked is gone, and everything below the guard is killed. The guard
is the parent of every orphan below it, so that none escapes by outliving its own parent (Linux). Temporary files go
with the command. The guard prints the command's document, or one of its own where the command ended without any:
`deadline`, `died` or `not-started`.

Standard library only, so that it starts at once and works under any interpreter.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType

if not __package__:
    sys.path.append(str(Path(__file__).resolve().parents[1]))

from distkb_probes._lifeline import adopt_orphans, die_with_parent
from distkb_probes._report import SCHEMA

MOST_REQUEST, MOST_DOCUMENT = 1 << 20, 64 << 20
"""Bytes of a request and of a document that are read."""
_SWEEP_S = 10.0
"""Seconds for which the sweep goes on; a process that the kernel does not let die by then is left to it."""


class _Gone(Exception):  # noqa: N818 - an end, not an error
    """The one who asked is gone, or told the guard to stop."""


def main(arguments: list[str]) -> int:
    """Guard one command; returns 0 where a document was printed."""
    began = time.monotonic()
    deadline = began + float(arguments[0])
    signals = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    for number in signals:
        signal.signal(number, _stop)
    adopt_orphans()
    document: bytes | None = None
    directory = ""
    try:
        request = _read_request(deadline)
        directory = tempfile.mkdtemp(prefix="distkb-probe-")
        document = _guarded(arguments[1:], request, deadline, began, directory)
    except _Gone:
        pass
    for number in signals:
        signal.signal(number, signal.SIG_IGN)
    _sweep()
    if directory:
        shutil.rmtree(directory, ignore_errors=True)
    if document is None:
        return 1
    with contextlib.suppress(OSError), open(1, "wb", closefd=False) as out:
        out.write(document)
    return 0


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise _Gone


def _read_request(deadline: float) -> bytes:
    """Read stdin byte by byte up to the line's end: what follows is not for us but tells that someone is there."""
    line = bytearray()
    while len(line) < MOST_REQUEST:
        if not select.select([0], [], [], max(0.0, deadline - time.monotonic()))[0]:
            raise _Gone
        data = os.read(0, 1)
        if not data:
            raise _Gone
        line += data
        if data == b"\n":
            return bytes(line)
    raise _Gone


def _guarded(command: list[str], request: bytes, deadline: float, began: float, directory: str) -> bytes:
    guard = os.getpid()
    try:
        child = subprocess.Popen(  # noqa: S603 - the command is the probe's own
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "TMPDIR": directory},
            preexec_fn=lambda: die_with_parent(guard),  # noqa: PLW1509 - the guard has one thread
        )
    except OSError as problem:
        return _own_document("not-started", f"{command[0]}: {problem.strerror}", began)
    assert child.stdin is not None  # noqa: S101 - a pipe was asked for
    assert child.stdout is not None  # noqa: S101
    with contextlib.suppress(BrokenPipeError):
        child.stdin.write(request)
        child.stdin.close()
    printed = child.stdout.fileno()
    output = bytearray()
    while True:
        left = deadline - time.monotonic()
        if left <= 0.0:
            return _own_document("deadline", f"{deadline - began:.0f}", began)
        ready = select.select([0, printed], [], [], left)[0]
        if 0 in ready and not os.read(0, 4096):
            raise _Gone
        if printed in ready:
            data = os.read(printed, 1 << 16)
            output += data
            if not data or len(output) > MOST_DOCUMENT:
                break
    try:
        code = child.wait(max(0.1, min(5.0, deadline - time.monotonic())))
    except subprocess.TimeoutExpired:
        code = 0
    if output.rstrip().endswith((b"}", b"]")) and len(output) <= MOST_DOCUMENT:
        return bytes(output)
    return _own_document("died", signal.Signals(-code).name if code < 0 else str(code), began)


def _own_document(reason: str, detail: str, began: float) -> bytes:
    return json.dumps(
        {
            "schema": SCHEMA,
            "probe": "",
            "status": "error",
            "reason": reason,
            "detail": detail,
            "found": [],
            "clear": [],
            "facts": {},
            "elapsed_s": round(time.monotonic() - began, 3),
        }
    ).encode()


def _sweep() -> None:
    """Kill everything below this process until nothing is left."""
    until = time.monotonic() + _SWEEP_S
    while time.monotonic() < until:
        below = _descendants(os.getpid())
        for pid in below:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        _reap()
        if not below:
            return
        time.sleep(0.005)


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _descendants(root: int) -> list[int]:
    """Return the pids below `root`, parents first; zombies are left out."""
    children: dict[int, list[int]] = {}
    for pid, parent in _parents():
        children.setdefault(parent, []).append(pid)
    found: list[int] = []
    queue = [root]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found


def _parents() -> list[tuple[int, int]]:
    """Return (pid, parent's pid) of every living process."""
    if not sys.platform.startswith("linux"):
        table = subprocess.run(
            ["/bin/ps", "-axo", "pid=,ppid=,stat="], capture_output=True, text=True, check=False
        ).stdout
        rows = [line.split() for line in table.splitlines()]
        return [(int(row[0]), int(row[1])) for row in rows if len(row) > 2 and not row[2].startswith("Z")]
    pairs: list[tuple[int, int]] = []
    for name in os.listdir("/proc"):  # noqa: PTH208 - names only, many of them
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                state, parent = file.read().rpartition(b")")[2].split()[:2]
        except (OSError, ValueError):
            continue
        if state not in (b"Z", b"X"):
            pairs.append((int(name), int(parent)))
    return pairs


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
