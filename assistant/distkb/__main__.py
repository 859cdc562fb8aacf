"""Runs the command line: `python -m distkb`."""

from __future__ import annotations

import sys

from distkb.cli.main import cli

if __name__ == "__main__":
    sys.exit(cli.run(sys.argv[1:]))
