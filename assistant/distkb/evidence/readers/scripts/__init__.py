"""Reads training scripts without running them, and finds what only some ranks do or no rank does."""

from distkb.evidence.readers.scripts.read import find_scripts, read_scripts

__all__ = ["find_scripts", "read_scripts"]
