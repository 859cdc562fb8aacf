"""Runs probes under the user's interpreter and judges what they saw."""
