"""From observations to ranked causes, the next step and the fix: pure, no I/O, no clock, no screen."""
