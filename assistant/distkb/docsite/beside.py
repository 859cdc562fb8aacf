"""Work that a second process does while this one goes on, where the system and the processors allow it."""

from __future__ import annotations

import marshal
import os
import sys
import threading
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Made = TypeVar("Made")


def beside(work: Callable[[], Made]) -> Callable[[], Made]:
    """Begin some work in a second process, and return what waits for it; where there can be none, the work itself.

    What it makes must be plain data. Work that fails there is done once more here, so that its error is raised.
    """
    if sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2 or threading.active_count() > 1:
        return work
    reading, writing = os.pipe()
    try:
        pid = os.fork()
    except OSError:
        os.close(reading)
        os.close(writing)
        return work
    if pid == 0:
        code = 1
        try:
            os.close(reading)
            with os.fdopen(writing, "wb") as answer:
                plain: Any = work()
                marshal.dump(plain, answer)
            code = 0
        finally:
            os._exit(code)
    os.close(writing)

    def made() -> Made:
        with os.fdopen(reading, "rb") as answer:
            data = answer.read()
        _, status = os.waitpid(pid, 0)
        if status:
            return work()
        found: Made = marshal.loads(data)  # noqa: S302 - written by our own child
        return found

    return made
