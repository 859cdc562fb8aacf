"""Prints what a command costs in bare interpreter starts: `python tests/benchmarks/cold_start.py [N] [COMMAND...]`.

Runs of the command and of `python -c pass` alternate, so that a busy machine slows both down alike. Modules are
compiled beforehand, as pip leaves them in an installation, whatever PYTHONDONTWRITEBYTECODE says here.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

BARE = (sys.executable, "-c", "pass")
SEARCH = (str(Path(sys.executable).with_name("distkb")), "search", "hang", "barrier")


def seconds(command: Sequence[str], environ: Mapping[str, str]) -> float:
    """Wall time of one run of a command, its output thrown away."""
    start = time.perf_counter()
    quiet = subprocess.DEVNULL
    subprocess.run(command, check=True, stdin=quiet, stdout=quiet, stderr=quiet, env=environ)
    return time.perf_counter() - start


def measure(command: Sequence[str], runs: int) -> tuple[float, float]:
    """Medians of `runs` alternating runs: of the command and of the bare interpreter, after one warm run of each."""
    with tempfile.TemporaryDirectory() as bytecode:
        environ = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environ["PYTHONPYCACHEPREFIX"] = bytecode
        seconds(command, environ)
        seconds(BARE, environ)
        pairs = [(seconds(command, environ), seconds(BARE, environ)) for _ in range(runs)]
    return statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs)


def main() -> None:
    """Measure and print one line."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 21
    command = (SEARCH[0], *sys.argv[2:]) if len(sys.argv) > 2 else SEARCH
    whole, bare = measure(command, runs)
    sys.stdout.write(
        f"distkb {' '.join(command[1:])}: {whole * 1000:.1f} ms, bare interpreter {bare * 1000:.1f} ms, "
        f"ratio {whole / bare:.2f} (medians of {runs})\n"
    )


if __name__ == "__main__":
    main()
