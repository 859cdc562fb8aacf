"""Runs one command of distkb as a process that can be cancelled and leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import anyio
import msgspec
from anyio.abc import ByteReceiveStream, Process

from distkb.evidence.progress import MARK, PROGRESS
from distkb.evidence.text.opening import ROOTS
from distkb.probing.run import probes_directory

GRACE_S = 15.0
"""Seconds that the guard has to end what is below it."""
_LAST = 4096
"""Characters at the end of stderr that are kept."""

Progress = Callable[[float, float], Awaitable[None]]
"""Told how much of how much was read."""


class CallFailedError(Exception):
    """The command gave no document; the text says why."""


class _Ended(msgspec.Struct):
    """What the guard says where the command printed no document."""

    schema: str
    reason: str | None = None
    detail: str = ""


async def call(
    args: Sequence[str], roots: Sequence[Path], *, deadline_s: float, progress: Progress | None = None
) -> str:
    """Return the JSON that `distkb ARGS` prints, byte for byte.

    The command runs below the guard of the probes: it ends with its deadline, with this process, and when the caller
    is cancelled. Nothing outside the roots is opened. Raises CallFailedError.
    """
    guard = [sys.executable, "-S", "-E", str(probes_directory() / "_guard.py"), f"{deadline_s:g}"]
    environ = {**os.environ, ROOTS: os.pathsep.join(map(str, roots)), PROGRESS: "1"}
    process = await anyio.open_process(
        [*guard, sys.executable, "-m", "distkb", *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environ,
        start_new_session=True,
    )
    said: list[str] = []
    printed: list[bytes] = []
    try:
        if process.stdin is not None:
            await process.stdin.send(b"\n")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_listen, process.stderr, said, progress)
            tasks.start_soon(_collect, process.stdout, printed)
        await process.wait()
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)
    return _document(b"".join(printed), said, deadline_s)


def _document(printed: bytes, said: list[str], deadline_s: float) -> str:
    last = "".join(said).strip().rpartition("\n")[2]
    try:
        ended = msgspec.json.decode(printed, type=_Ended) if printed[:1] == b"{" and len(printed) < _LAST else None
    except msgspec.DecodeError:
        ended = None
    if ended is not None and ended.schema == "distkb.probe-raw/1":
        raise CallFailedError(f"deadline: {deadline_s:g} s" if ended.reason == "deadline" else last or ended.detail)
    if not printed:
        raise CallFailedError(last or "died")
    return printed.decode("utf-8")


async def _collect(stream: ByteReceiveStream | None, printed: list[bytes]) -> None:
    if stream is not None:
        printed.extend([data async for data in stream])


async def _listen(stream: ByteReceiveStream | None, said: list[str], progress: Progress | None) -> None:
    """Read stderr: how far the command is, and its notes and errors."""
    rest = b""
    if stream is None:
        return
    async for data in stream:
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            text = line.decode("utf-8", "replace")
            done, _, total = text[1:].partition(" ")
            if not text.startswith(MARK):
                said[:] = ["".join([*said, text, "\n"])[-_LAST:]]
            elif progress is not None and done.isdecimal() and total.isdecimal():
                await progress(float(done), float(total))


async def _end(process: Process) -> None:
    """Close the lifeline, at which the guard ends all that is below it, and wait for it."""
    if process.stdin is not None:
        await process.stdin.aclose()
    with anyio.move_on_after(GRACE_S):
        await process.wait()
    if process.returncode is None:
        process.kill()
    await process.aclose()
