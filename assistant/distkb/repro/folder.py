"""A folder for artifacts that nobody asked to keep: gone when it is no longer needed, however distkb ends."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_KEEPER = "import shutil, sys; sys.stdin.read(); shutil.rmtree(sys.argv[1], ignore_errors=True)"


@contextmanager
def temporary() -> Iterator[Path]:
    """Make a folder and remove it at the end; a process of its own does so where this one is killed before."""
    folder = Path(tempfile.mkdtemp(prefix="distkb-repro-"))
    keeper = subprocess.Popen(  # noqa: S603 - our own line of code
        [sys.executable, "-I", "-S", "-c", _KEEPER, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if keeper.stdin is not None:
            keeper.stdin.close()
        keeper.wait()
