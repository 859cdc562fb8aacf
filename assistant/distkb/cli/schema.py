"""`distkb schema NAME`: the published schemas of the JSON documents."""

from __future__ import annotations

import click

from distkb.cli import output
from distkb.cli.command import Command
from distkb.cli.diagnostics import ExitCode

NAMES = ("diagnosis", "digest", "search", "list", "entry", "setting", "probe", "repro-list")


@click.command("schema", cls=Command, help="help.schema", examples=("distkb schema diagnosis", "distkb schema probe"))
@click.argument("name", type=click.Choice(NAMES), metavar=f"{'|'.join(NAMES)}")
def command(name: str) -> ExitCode:
    """Print one schema."""
    from distkb.report.documents import schema
    from distkb.report.json import encode

    output.write(encode(schema(name)))
    return ExitCode.DONE
