"""Reads evidence in a process of its own, so that a screen stays quick and reading can be cancelled at any time.

The child makes itself ready at once, which takes seconds where patterns are compiled for the first time, and says so
with `Preparing`. The parent writes one `ReadRequest`; the child answers with `BytesRead` while it reads and one
`Evidence` or `Refused` at the end, each as four bytes of length and the message in msgpack. A child whose parent is
gone fails on its next write.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

import msgspec

from distkb.evidence.observation import Evidence

_MOST_BYTES = 1 << 30


class ReadRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to read."""

    paths: tuple[str, ...] = ()
    report: str | None = None


class Preparing(msgspec.Struct, frozen=True, tag="preparing"):
    """Patterns are compiled, once after an install; `done` when they are."""

    done: bool


class BytesRead(msgspec.Struct, frozen=True, tag="progress"):
    """How many bytes of how many were read."""

    done: int
    total: int


class Read(msgspec.Struct, frozen=True, tag="read"):
    """All of it was read."""

    evidence: Evidence


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """Reading failed as a whole."""

    reason: str


Message = Preparing | BytesRead | Read | Refused


class CancelledError(Exception):
    """Reading was cancelled."""


class ReadingFailedError(Exception):
    """The process that reads ended without an answer; the text says why."""


class ReadingProcess:
    """One reading process. `result` waits for it; `cancel`, from any thread, ends it."""

    def __init__(self, request: ReadRequest | None = None, *, overlays: Sequence[Path] = ()) -> None:
        """Start it; without a request it makes itself ready, and `ask` says later what to read."""
        self._cancelled = False
        self._process = subprocess.Popen(  # noqa: S603 - this interpreter and folders that the user named
            [sys.executable, "-m", "distkb.intake_process", *map(str, overlays)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        if request is not None:
            self.ask(request)

    def ask(self, request: ReadRequest) -> None:
        """Say what to read, once."""
        stdin = self._process.stdin
        if stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                stdin.write(json.dumps(msgspec.to_builtins(request)).encode())  # names of files may be no text
                stdin.close()

    @property
    def is_alive(self) -> bool:
        """Whether it can still be asked."""
        return self._process.poll() is None

    def result(
        self,
        progress: Callable[[int, int], None] | None = None,
        preparing: Callable[[bool], None] | None = None,
    ) -> Evidence:
        """Wait for the evidence. Raises CancelledError, or ReadingFailedError.

        `progress` is told how many bytes of how many were read; `preparing` that patterns are compiled, and no more.
        """
        stdout = self._process.stdout
        try:
            while stdout is not None:
                match _receive(stdout):
                    case BytesRead(done=done, total=total):
                        if progress is not None and not self._cancelled:
                            progress(done, total)
                    case Preparing(done=done):
                        if preparing is not None and not self._cancelled:
                            preparing(not done)
                    case Read(evidence=evidence):
                        return evidence
                    case Refused(reason=reason):
                        raise ReadingFailedError(reason)
                    case None:
                        break
        finally:
            self._end()
        if self._cancelled:
            raise CancelledError
        raise ReadingFailedError(str(self._process.returncode))

    def cancel(self) -> None:
        """End the reading at once."""
        self._cancelled = True
        self._process.kill()

    def end(self) -> None:
        """End one that was never asked, and wait until it is gone."""
        self.cancel()
        self._end()

    def _end(self) -> None:
        with contextlib.suppress(OSError):
            self._process.kill()
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()


def _receive(stream: IO[bytes]) -> Message | None:
    head = stream.read(4)
    size = int.from_bytes(head, "little")
    if len(head) < 4 or size > _MOST_BYTES:
        return None
    try:
        message: Message = msgspec.msgpack.decode(stream.read(size), type=Message)
    except msgspec.DecodeError:
        return None
    return message


def _send(descriptor: int, message: Message) -> None:
    data = msgspec.msgpack.encode(message)
    data = len(data).to_bytes(4, "little") + data
    while data:
        data = data[os.write(descriptor, data) :]


def main() -> None:
    """Make ready with the overlays that the arguments name, then serve one request from stdin."""
    out = os.dup(1)
    os.dup2(2, 1)  # nothing that is printed by accident gets between the messages
    overlays = [Path(name) for name in sys.argv[1:]]
    try:
        with contextlib.suppress(Exception):  # what is wrong is said when something is asked for
            _prepare(overlays, out)
        asked = sys.stdin.buffer.read()
        if not asked:
            return  # nobody asks any more
        request = msgspec.convert(json.loads(asked), ReadRequest)
        _send(out, Read(_read(request, overlays, lambda done, total: _send(out, BytesRead(done, total)))))
    except BrokenPipeError:
        os._exit(1)
    except Exception as problem:  # noqa: BLE001 - the parent says it
        with contextlib.suppress(OSError):
            _send(out, Refused(f"{type(problem).__name__}: {problem}"))


def _prepare(overlays: Sequence[Path], out: int) -> None:
    """Import what reads, and compile the patterns where they are not kept yet."""
    from distkb import intake, knowledge  # noqa: F401
    from distkb.catalogue.places import cache_directory
    from distkb.evidence.readers.report.report_reader import ReportReader
    from distkb.evidence.scanner.scan import Scanner

    signatures = knowledge.open_knowledge(overlays).catalogue().signatures
    scanner = Scanner(signatures, cache_directory())
    if scanner.is_kept():
        return
    _send(out, Preparing(done=False))
    scanner.prepare()
    ReportReader(signatures, cache_directory()).prepare()
    _send(out, Preparing(done=True))


def _read(request: ReadRequest, overlays: Sequence[Path], progress: Callable[[int, int], None]) -> Evidence:
    from distkb import intake, knowledge
    from distkb.catalogue.places import cache_directory
    from distkb.search.index import load

    compiled = knowledge.open_knowledge(overlays)
    paths: Sequence[Path] = [Path(name) for name in request.paths]
    return intake.read(
        compiled.catalogue(),
        paths,
        report=request.report,
        index=lambda: load(compiled.search_index()),
        cache_dir=cache_directory(),
        progress=progress,
        look_near=True,
    )


if __name__ == "__main__":
    main()
