"""Reads what a job was configured with, and finds what contradicts itself, is ignored, or cannot work."""

from distkb.evidence.readers.configs.read_configs import (
    ConfigReader,
    find_configs,
    find_launches,
    is_launch,
    load_config,
    read_configs,
)

__all__ = ["ConfigReader", "find_configs", "find_launches", "is_launch", "load_config", "read_configs"]
