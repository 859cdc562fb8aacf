"""Reads training scripts without running them, and finds what only some ranks do or no rank does."""

from distkb.evidence.readers.scripts.read_scripts import ScriptReader, find_scripts, read_scripts

__all__ = ["ScriptReader", "find_scripts", "read_scripts"]
