"""Reads the flight recorder's dumps of all ranks, and says who called what, and who did not."""

from distkb.evidence.readers.flight_recorder.read_flight_recorder import (
    FlightRecorderReader,
    find_flight_recorder,
    read_flight_recorder,
)

__all__ = ["FlightRecorderReader", "find_flight_recorder", "read_flight_recorder"]
