"""Reads what a job was configured with, and finds what contradicts itself, is ignored, or cannot work."""

from distkb.evidence.configs.read import ConfigReading, find_configs, implied_facts, read_configs

__all__ = ["ConfigReading", "find_configs", "implied_facts", "read_configs"]
