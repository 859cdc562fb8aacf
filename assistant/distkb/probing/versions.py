"""Versions of the training libraries in an environment, read from its metadata without importing anything."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

import msgspec

COMPONENTS = ("torch", "accelerate", "transformers", "deepspeed", "lightning")


_SEARCHED = "import json, sys; print(json.dumps(sys.path))"
_ASK_S = 20.0


def versions_of(python: Path) -> dict[str, str | None]:
    """Return component → version of another interpreter's environment; all None where it does not answer."""
    try:
        printed = subprocess.run(  # noqa: S603 - the interpreter is the user's own
            [python, "-c", _SEARCHED], stdin=subprocess.DEVNULL, capture_output=True, timeout=_ASK_S, check=False
        ).stdout
        searched = msgspec.json.decode(printed, type=list[str])
    except (OSError, subprocess.TimeoutExpired, msgspec.DecodeError):
        return dict.fromkeys(COMPONENTS)
    return installed_versions(searched)


def installed_versions(path: Iterable[str] | None = None) -> dict[str, str | None]:
    """Return component → version, None where it is not installed: of `path`, or of distkb's own environment."""
    found: dict[str, str | None] = dict.fromkeys(COMPONENTS)
    searched = list(path) if path is not None else sys.path
    for name in COMPONENTS:
        for distribution in metadata.distributions(name=name, path=searched):
            found[name] = distribution.version
            break
    return found
