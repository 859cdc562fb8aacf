"""Versions of the training libraries in an environment, read from its metadata without importing anything."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import metadata

COMPONENTS = ("torch", "accelerate", "transformers", "deepspeed", "lightning")


def installed_versions(path: Iterable[str] | None = None) -> dict[str, str | None]:
    """Return component → version, None where it is not installed: of `path`, or of distkb's own environment."""
    found: dict[str, str | None] = dict.fromkeys(COMPONENTS)
    searched = list(path) if path is not None else sys.path
    for name in COMPONENTS:
        for distribution in metadata.distributions(name=name, path=searched):
            found[name] = distribution.version
            break
    return found
