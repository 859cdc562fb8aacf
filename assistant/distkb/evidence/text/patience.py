"""Ends the search of an expression that takes too long on one piece of text, and goes on without it.

`kb check` refuses patterns that grow without bound; one with several bounded gaps can still be kept busy for seconds by
a text that was made for it. `re` looks at pending signals while it works, so that a timer of the process can end it.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from types import FrameType, TracebackType
from typing import Any

TICK_S = 0.02
"""Seconds of processor time between two looks at the clock."""
TICKS = 5
"""Ticks that one search may take: the slowest on real reports takes less than one."""
ALL_S, EACH_S = 0.5, 1e-5
"""Seconds that all searches of a text may take, and as many more for each character: some four times what any text
takes that was not made for it, so that a machine in a slow phase gives the same answers."""


class _TooLongError(Exception):
    """A search is ended."""


class Patience:
    """A clock for searches; where there is none (a thread, Windows) they take what they take."""

    def __init__(self, characters: int = 0) -> None:
        """Take how long the text is of which all pieces are searched."""
        self._left = (ALL_S + EACH_S * characters) / TICK_S
        self._ticks = 0
        self._searching = False
        self._before: Any = None
        self.given_up = 0
        """Searches that were ended, or not begun because all together had taken too long."""

    def __enter__(self) -> Patience:  # noqa: PYI034 - `Self` came with Python 3.11
        """Start the clock."""
        if hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGVTALRM, self._tick)
            signal.setitimer(signal.ITIMER_VIRTUAL, TICK_S, TICK_S)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the clock."""
        if self._before is not None:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, self._before)
            self._before = None

    def _tick(self, _number: int, _frame: FrameType | None) -> None:
        if not self._searching:
            return
        self._ticks += 1
        self._left -= 1
        if self._ticks > TICKS or self._left < 0:
            self._searching = False
            raise _TooLongError

    def search(self, expression: Any, text: str) -> Any:
        """Return what the expression finds; None where it does not come to an end in time."""
        self._ticks = 0
        with contextlib.suppress(_TooLongError):
            if self._left >= 0:
                self._searching = True
                found = expression.search(text)
                self._searching = False
                return found
        self.given_up += 1
        return None
