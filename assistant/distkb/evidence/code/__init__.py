"""Reads script and run together: which statement each rank stood at, and what sent the ranks different ways."""
