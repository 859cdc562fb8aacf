"""The tools of tests/site-tools, which npm installs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "site-tools"
OLDEST = 20
"""The oldest Node.js that html-validate runs with."""


def node() -> str:
    """Return the program that runs the tools; the test is skipped where it, or they, are missing."""
    found = shutil.which("node")
    if found is None:
        pytest.skip("Node.js is not installed (Debian: apt-get install nodejs npm)")
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
    if int(version.lstrip("v").split(".")[0]) < OLDEST:
        pytest.skip(f"Node.js {version.strip()} is too old for the tools (they need {OLDEST})")
    if not (FOLDER / "node_modules").is_dir():
        pytest.skip("the tools are not installed (npm ci --prefix tests/site-tools)")
    return found


def tool(path: str) -> Path:
    """Return a file of an installed tool."""
    node()
    return FOLDER / "node_modules" / path
