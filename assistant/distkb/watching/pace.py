"""How long a job may be silent: from what it showed so far, or as the user said. No clock and no I/O of its own."""

from __future__ import annotations

import statistics
from collections import deque

START_S = 600.0
"""Silence that is usual before the first steps: imports, downloads, compiling, warming up."""
FLOOR_S = 120.0
"""The shortest limit that is concluded: an evaluation or a save that nothing announced takes less, as a rule."""
FEW, KEPT = 5, 64
"""Steps after which the start is over, and the intervals that are kept."""
_TIMES, _LONG_S, _LONG_TIMES = 20.0, 600.0, 4.0
"""A limit is 20 usual intervals, for slow steps no more than ten minutes and four of them."""
_PAUSES = 3.0
"""A pause after which the job went on may come again, and take up to so much longer."""


class Pace:
    """The times at which a job went on. All times are seconds of one clock that never goes back."""

    def __init__(self, now: float, fixed: float | None = None) -> None:
        self.fixed = fixed
        self._last = now
        self._last_other = now
        self._beats = 0
        self._counted = 0
        self._intervals: deque[float] = deque(maxlen=KEPT)

    @property
    def by_steps(self) -> bool:
        """Whether the job prints counters that advance: then they tell, and other output does not."""
        return self._counted >= 3

    @property
    def beats(self) -> int:
        """How often it went on so far."""
        return self._beats

    def step(self, at: float) -> None:
        """A counter in its output went on."""
        if not self.by_steps and self._counted == 2:
            self._intervals.clear()  # what other output came at tells nothing of the steps
        self._counted += 1
        self._beat(at)

    def other(self, at: float) -> None:
        """It wrote something else, or a file of it grew."""
        self._last_other = max(self._last_other, at)
        if not self.by_steps:
            self._beat(at)

    def _beat(self, at: float) -> None:
        if at > self._last:
            if self._beats:
                self._intervals.append(at - self._last)
            self._last = at
        self._beats += 1

    def shift(self, seconds: float) -> None:
        """Leave out a time in which nobody could look: the machine slept, or the terminal stopped us both."""
        self._last += seconds
        self._last_other += seconds

    def restart(self, now: float) -> None:
        """Begin anew: the ranks are others than before."""
        self.__init__(now, self.fixed)  # type: ignore[misc]

    def silent(self, now: float) -> float:
        """Return for how long nothing went on."""
        return max(0.0, now - self._last)

    def limit(self) -> float:
        """Return for how long it may be silent before somebody has to look."""
        if self.fixed is not None:
            return self.fixed
        if self._beats < FEW or not self._intervals:
            return START_S
        usual = statistics.median(self._intervals)
        limit = max(FLOOR_S, min(_TIMES * usual, _LONG_S + _LONG_TIMES * usual), _PAUSES * max(self._intervals))
        # It writes without counting on: an evaluation, a save, retries of something.
        return 2 * limit if self._last_other > self._last + 1.0 else limit
