"""Probes that run in the user's own environment: standard library and torch only."""
