"""The files from which NCCL takes variables that are not in the environment: its own and the machine's nccl.conf.

NCCL reads the file that NCCL_CONF_FILE names, else ~/.nccl.conf, then /etc/nccl.conf, one NAME=VALUE a line; a name
that is already set keeps its value (src/misc/param.cc).
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from distkb_probes.environment.variables import masked

MACHINE_FILE = Path("/etc/nccl.conf")
_MOST_BYTES = 1 << 16


def nccl_settings(environment: Mapping[str, str], machine_file: Path = MACHINE_FILE) -> list[dict[str, Any]]:
    """Return the settings that take effect from files: name, masked value, path and line (1-based)."""
    files: list[Path] = []
    if environment.get("NCCL_CONF_FILE"):
        files.append(Path(environment["NCCL_CONF_FILE"]))
    elif environment.get("HOME"):
        files.append(Path(environment["HOME"]) / ".nccl.conf")
    found: dict[str, dict[str, Any]] = {}
    for path in (*files, machine_file):
        for number, name, value in _lines(path):
            if name not in environment and name not in found:
                found[name] = {"name": name, "value": masked(name, value), "path": str(path), "line": number}
    return list(found.values())


def _lines(path: Path) -> list[tuple[int, str, str]]:
    with contextlib.suppress(OSError), path.open(encoding="utf-8", errors="replace") as file:
        lines = file.read(_MOST_BYTES).splitlines()
        split = [(number, *line.partition("=")) for number, line in enumerate(lines, 1) if not line.startswith("#")]
        return [(number, name, value) for number, name, equals, value in split if equals and name]
    return []
