"""Calls the command line: in this process, quickly, or as a real process where that matters."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner, Result

from distkb.cli.main import cli

PROGRAM = str(Path(sys.executable).with_name("distkb"))
SETTINGS = ("DISTKB_LANG", "LC_ALL", "LANG", "DISTKB_KB", "NO_COLOR", "COLUMNS")
"""Variables of the tester's own environment that the tests must not depend on."""


def invoke(*args: str, stdin: str | bytes | None = None) -> Result:
    """Call `distkb` in this process, with text on stdin if given."""
    return CliRunner().invoke(cli, list(args), input=stdin, env=dict.fromkeys(SETTINGS))


def run(*args: str, stdin: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
    """Start `distkb` as a process with extra environment variables."""
    environment = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    return subprocess.run(
        [PROGRAM, *args],
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**environment, **environ},
        timeout=120,
        check=False,
    )
