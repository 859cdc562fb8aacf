"""Prints how soon a key is answered while a log of 1 GB is read: `python tests/benchmarks/keys_while_reading.py [GB]`.

The program runs in a pseudo-terminal and reads a generated log, which is deleted afterwards. Ctrl+L, which writes every
widget anew in the other language, is pressed again and again; the clock runs from the key to the redrawn title. Beside
it stands the same key on the start screen, with nothing else going on.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from pathlib import Path

PROGRAM = str(Path(sys.executable).with_name("distkb"))
CTRL_L = b"\x0c"
START = (b"What do you see?", "어떤 문제입니까?".encode())
READING = (b"Reading", "읽는 중입니다".encode())
SESSION = (b"Causes", "원인".encode())
LINE = (
    "[rank{rank}]: 2026-01-02 03:04:05,678 INFO step {step} loss 2.34567 lr 1.0e-04 tokens/s 12345 grad_norm 0.98765\n"
)
PRESSES = 60
PATIENCE_S = 60.0


@contextlib.contextmanager
def program(*args: str) -> Iterator[int]:
    """Run the program and give its terminal."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    with tempfile.TemporaryDirectory() as state:
        environ = os.environ | {"TERM": "xterm-256color", "DISTKB_LANG": "en", "XDG_STATE_HOME": state}
        environ.pop("NO_COLOR", None)
        process = subprocess.Popen(
            [PROGRAM, *args], stdin=slave, stdout=slave, stderr=slave, env=environ, start_new_session=True
        )
        os.close(slave)
        try:
            yield master
        finally:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            os.close(master)


def wait_for(terminal: int, wanted: bytes, *, unless: tuple[bytes, ...] = ()) -> bool:
    """Read the terminal until a text is drawn; False where another one is drawn first."""
    seen, end = b"", time.perf_counter() + PATIENCE_S
    while time.perf_counter() < end:
        if not select.select([terminal], [], [], 0.5)[0]:
            continue
        seen = seen[-1000:] + os.read(terminal, 1 << 16)
        if wanted in seen:
            return True
        if any(text in seen for text in unless):
            return False
    message = f"never drawn: {wanted!r}; the last was {seen[-300:]!r}"
    raise RuntimeError(message)


def presses(terminal: int, titles: tuple[bytes, bytes], *, unless: tuple[bytes, ...] = ()) -> list[float]:
    """Press Ctrl+L again and again; seconds from each key to the title in the other language."""
    found: list[float] = []
    for number in range(PRESSES):
        time.sleep(0.033)  # about as fast as a key repeats
        start = time.perf_counter()
        os.write(terminal, CTRL_L)
        if not wait_for(terminal, titles[(number + 1) % 2], unless=unless):
            break
        found.append(time.perf_counter() - start)
    return found


def write_log(path: Path, size: int) -> None:
    """Write a log of about `size` bytes."""
    block = "".join(LINE.format(rank=n % 8, step=n) for n in range(10_000)).encode()
    with path.open("wb") as file:
        for _ in range(size // len(block) + 1):
            file.write(block)


def summary(name: str, seconds: list[float]) -> str:
    """One line about a series."""
    ms = sorted(1000 * s for s in seconds)
    return (
        f"{name}: median {statistics.median(ms):.1f} ms, 95th percentile {ms[int(len(ms) * 0.95)]:.1f} ms, "
        f"worst {ms[-1]:.1f} ms ({len(ms)} keys)\n"
    )


def main() -> None:
    """Measure and print two lines."""
    size = int(float(sys.argv[1]) * (1 << 30)) if len(sys.argv) > 1 else 1 << 30
    with program() as terminal:
        wait_for(terminal, b"Nothing leaves this machine")
        sys.stdout.write(summary("at rest", presses(terminal, START)))
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "rank0.log"
        write_log(log, size)
        with program(str(log)) as terminal:
            wait_for(terminal, b"MiB")
            sys.stdout.write(summary(f"reading {size >> 20} MiB", presses(terminal, READING, unless=SESSION)))


if __name__ == "__main__":
    main()
