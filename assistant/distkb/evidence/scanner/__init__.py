"""Looks for all of the catalogue's patterns in files of any size, in one pass."""
