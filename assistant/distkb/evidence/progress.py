"""How far reading is, said on stderr to a program that asked for it with a variable."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

PROGRESS = "DISTKB_PROGRESS"
"""Variable by which another program asks to be told."""
MARK = "\x1e"
"""What such a line begins with: no note of distkb does. `<MARK><bytes read> <bytes in all>`."""
_OFTEN_S = 0.2


def listener() -> Callable[[int, int], None] | None:
    """Return what is to be told how far reading is; None where nobody asked."""
    if not os.environ.get(PROGRESS):
        return None
    last = 0.0

    def tell(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _OFTEN_S or done >= total:
            last = now
            sys.stderr.write(f"{MARK}{done} {total}\n")
            sys.stderr.flush()

    return tell
