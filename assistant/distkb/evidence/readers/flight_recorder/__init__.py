"""Reads the flight recorder's dumps of all ranks, and says who called what, and who did not."""

from distkb.evidence.readers.flight_recorder.files import find_flight_recorder
from distkb.evidence.readers.flight_recorder.read import read_flight_recorder

__all__ = ["find_flight_recorder", "read_flight_recorder"]
