"""Builds the static site from the catalogue."""
