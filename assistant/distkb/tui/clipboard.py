"""Copying from a terminal: what can be known of whether it arrived, and a file that has it in any case."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Literal

from distkb.catalogue import places

Way = Literal["tmux", "terminal"]
"""`tmux`: its paste buffer has it. `terminal`: the terminal was asked with OSC 52, and never says whether it obeyed."""


def hand_over(text: str) -> Way:
    """Give a text to tmux where the program runs in it; elsewhere the escape sequence has to do."""
    tmux = shutil.which("tmux") if os.environ.get("TMUX") else None
    if tmux is not None:
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            done = subprocess.run(  # noqa: S603 - the tmux that this program runs in
                [tmux, "load-buffer", "-w", "-"], input=text.encode(), capture_output=True, check=False, timeout=2.0
            )
            if done.returncode == 0:
                return "tmux"
    return "terminal"


def keep(text: str) -> Path | None:
    """Write the text to a file that only this user may read; None where that is not possible."""
    path = places.state_directory() / "copied.txt"
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.touch(mode=0o600)
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError:
        return None
    return path
