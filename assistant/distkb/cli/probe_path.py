"""`distkb probe path`: where the live checks can be imported from."""

from __future__ import annotations

import click

from distkb.cli import output
from distkb.cli.command import Command
from distkb.cli.diagnostics import ExitCode


@click.command(
    "path",
    cls=Command,
    help="help.probe.path",
    examples=("PYTHONPATH=$(distkb probe path) torchrun --nproc-per-node 2 train.py",),
)
def command() -> ExitCode:
    """Print a directory for PYTHONPATH that holds `distkb_probes` and nothing else."""
    from distkb.probing.importable import importable_directory

    output.write(f"{importable_directory()}\n")
    return ExitCode.DONE
