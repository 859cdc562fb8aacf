"""What holds for all tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# A property says what must hold, not how fast: on a loaded machine any example may take long.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")
