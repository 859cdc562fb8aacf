"""Prints how long `distkb` takes to its first frame: `python tests/benchmarks/first_frame.py [N]`.

The program runs in a pseudo-terminal of 80 columns; the clock runs from before the process starts until the title of
the start screen has come out of it. Runs alternate with `python -c pass`, so that a busy machine slows both down alike.
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
from collections.abc import Mapping
from pathlib import Path

BARE = (sys.executable, "-c", "pass")
PROGRAM = str(Path(sys.executable).with_name("distkb"))
TITLE = b"The doctor for distributed PyTorch training"
PATIENCE_S = 30.0


def bare_seconds(environ: Mapping[str, str]) -> float:
    """Wall time of one start of the interpreter."""
    start = time.perf_counter()
    subprocess.run(BARE, check=True, env=environ)
    return time.perf_counter() - start


def first_frame_seconds(environ: Mapping[str, str]) -> float:
    """Wall time from the start of the program until its title has been drawn."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    start = time.perf_counter()
    process = subprocess.Popen(
        [PROGRAM, "--lang", "en"], stdin=slave, stdout=slave, stderr=slave, env=environ, start_new_session=True
    )
    os.close(slave)
    try:
        return _until(master, TITLE, start)
    finally:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(master)


def _until(terminal: int, wanted: bytes, start: float) -> float:
    seen = b""
    while time.perf_counter() - start < PATIENCE_S:
        if select.select([terminal], [], [], 0.5)[0]:
            try:
                seen += os.read(terminal, 1 << 16)
            except OSError:
                break
            if wanted in seen:
                return time.perf_counter() - start
    message = f"no first frame; the program said {seen[-400:]!r}"
    raise RuntimeError(message)


def measure(runs: int) -> tuple[float, float]:
    """Medians of `runs` alternating runs: of the program and of the bare interpreter, after one warm run of each."""
    with tempfile.TemporaryDirectory() as own:
        environ = {k: v for k, v in os.environ.items() if k not in ("PYTHONDONTWRITEBYTECODE", "NO_COLOR")}
        environ |= {"TERM": "xterm-256color", "XDG_STATE_HOME": f"{own}/state"}
        environ |= {"PYTHONPYCACHEPREFIX": f"{own}/bytecode"}
        first_frame_seconds(environ)
        bare_seconds(environ)
        pairs = [(first_frame_seconds(environ), bare_seconds(environ)) for _ in range(runs)]
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)


def main() -> None:
    """Measure and print one line."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    whole, bare = measure(runs)
    sys.stdout.write(f"first frame: {whole * 1000:.0f} ms, bare interpreter {bare * 1000:.0f} ms (medians of {runs})\n")


if __name__ == "__main__":
    main()
