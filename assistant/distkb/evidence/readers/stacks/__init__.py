"""Reads the stacks of hanging ranks, in every form they are dumped in, and says which rank stands elsewhere."""

from distkb.evidence.readers.stacks.read_stacks import StackReader, find_stacks, read_dumps, read_stacks

__all__ = ["StackReader", "find_stacks", "read_dumps", "read_stacks"]
