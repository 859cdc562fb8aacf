"""How long a job may be silent follows what it showed so far."""

from __future__ import annotations

from distkb.watching.pace import FLOOR_S, START_S, Pace


def going(interval: float, number: int = 50) -> tuple[Pace, float]:
    """A job that printed so many steps, and the time of the last one."""
    pace = Pace(0.0)
    for step in range(1, number + 1):
        pace.step(step * interval)
    return pace, number * interval


def test_the_start_may_take_long() -> None:
    """Imports, downloads and the first compilation are no stall."""
    assert Pace(0.0).limit() == START_S
    assert going(1.0, 3)[0].limit() == START_S


def test_quick_steps_have_the_shortest_limit() -> None:
    """An evaluation of half a minute that nothing announced stays below it."""
    assert going(0.2)[0].limit() == FLOOR_S >= 3 * 30


def test_slow_steps_raise_it_and_not_without_end() -> None:
    """Twenty steps of twelve seconds, but no hour and a half for steps of five minutes."""
    assert going(12.0)[0].limit() == 240.0
    assert going(300.0)[0].limit() == 1800.0


def test_a_pause_that_came_to_its_end_may_come_again() -> None:
    """After an evaluation of five minutes the next one may take fifteen."""
    pace, last = going(1.0)
    pace.step(last + 300)
    assert pace.limit() == 900.0


def test_what_counts_on_tells_more_than_what_is_merely_written() -> None:
    """A heartbeat that somebody prints does not hide that the steps stand still; it only asks for patience."""
    pace, last = going(1.0)
    pace.other(last + 100)
    assert pace.silent(last + 101) == 101
    assert pace.limit() == 2 * FLOOR_S


def test_without_counters_anything_written_is_progress() -> None:
    """A job whose output goes to a terminal is known by how much its ranks write."""
    pace = Pace(0.0)
    for second in range(1, 30):
        pace.other(float(second))
    assert pace.silent(30.0) == 1.0
    assert pace.limit() == FLOOR_S


def test_the_users_limit_holds_from_the_start() -> None:
    """`--stall` is what the user said."""
    assert Pace(0.0, 15.0).limit() == 15.0


def test_a_time_in_which_nobody_looked_is_no_silence() -> None:
    """A machine that slept, or Ctrl-Z, stopped the job as well."""
    pace, last = going(1.0)
    pace.shift(3600)
    assert pace.silent(last + 3601) == 1.0
