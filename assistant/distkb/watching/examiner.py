"""The process that looks at a silent job: heavy imports, probes and the diagnosis are its, not the watcher's.

The watcher writes one request, and `go` when the job is still silent at its limit; the examiner answers with a verdict
and, after `go`, with what it kept. Each is one line of JSON. It ends with the watcher, however that ends.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Sequence

import msgspec

from distkb.watching.verdict import JobVerdict
from distkb_probes._lifeline import die_with_parent

_MOST_BYTES = 8 << 20


class ExamineRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to look at."""

    parent: int
    pids: tuple[int, ...]
    cores: dict[int, float]
    """What each rank used of late, with all processes below it."""
    wanted: dict[int, float] = {}
    """And what it would have used, had it not waited for a processor."""
    missing: tuple[int, ...] = ()
    """Ranks that ran here before, and do not now."""
    slurm_job: str = ""
    python: str | None = None


class Go(msgspec.Struct, frozen=True, kw_only=True):
    """What to keep."""

    directory: str
    name: str
    logs: tuple[str, ...] = ()
    since: float = 0.0
    """When the job began (time.time), or the watching."""
    silence_s: float = 0.0
    limit_s: float = 0.0
    last_line: str = ""
    archive: bool = False
    columns: int = 80


class Seen(msgspec.Struct, frozen=True, tag="seen"):
    """The first answer."""

    verdict: JobVerdict
    written: int | None = None
    """Bytes that all ranks wrote so far, to files, terminals and sockets; None where nobody may know."""


class Kept(msgspec.Struct, frozen=True, tag="kept"):
    """The second answer: where everything is, and what `diagnose` says of it."""

    bundle: str
    answer: str
    text: str


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """Something went wrong; the job is still watched."""

    reason: str


Message = Seen | Kept | Refused


class Examiner:
    """One look at the job, going on beside the watcher."""

    def __init__(self, request: ExamineRequest, arguments: Sequence[str]) -> None:
        """Start it; `arguments` are those of the command that answers. Raises OSError where nothing starts."""
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-m", "distkb", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._buffer = b""
        if self._process.stdout is not None:
            os.set_blocking(self._process.stdout.fileno(), False)
        self._write(msgspec.json.encode(request))

    def go(self, go: Go) -> None:
        """Have everything kept and diagnosed."""
        self._write(msgspec.json.encode(go))

    def messages(self) -> list[Message]:
        """Return what it has said since the last call, without waiting; an end without a word is Refused."""
        data: bytes | None = b""
        stdout = self._process.stdout
        while stdout is not None and len(self._buffer) < _MOST_BYTES and (data := stdout.read(1 << 16)):
            self._buffer += data
        *lines, self._buffer = self._buffer.split(b"\n")
        found: list[Message] = []
        for line in lines:
            with contextlib.suppress(msgspec.DecodeError):
                found.append(msgspec.json.decode(line, type=Message))
        if not found and data == b"" and self._process.poll() is not None:
            found.append(Refused(f"exit code {self._process.returncode}"))
        return found

    def cancel(self) -> None:
        """End it; what it started ends with it."""
        with contextlib.suppress(OSError):
            self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _write(self, data: bytes) -> None:
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.write(data + b"\n")
                self._process.stdin.flush()


def begin() -> ExamineRequest | None:
    """Tie this process to the watcher and read its request; None where that is gone already."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    with contextlib.suppress(msgspec.DecodeError):
        request = msgspec.json.decode(sys.stdin.buffer.readline(_MOST_BYTES), type=ExamineRequest)
        die_with_parent(request.parent)
        return request
    return None


def wait_for_go() -> Go | None:
    """Wait until the watcher wants everything kept; None where it has gone away instead."""
    with contextlib.suppress(msgspec.DecodeError):
        return msgspec.json.decode(sys.stdin.buffer.readline(_MOST_BYTES), type=Go)
    return None


def say(message: Message) -> None:
    """Answer the watcher."""
    data = msgspec.json.encode(message) + b"\n"
    while data:
        data = data[os.write(1, data) :]
