"""`distkb kb schema`: what editors need to complete and check the files of the knowledge base."""

from __future__ import annotations

from pathlib import Path

import click

from distkb.cli import output
from distkb.cli.command import Command
from distkb.cli.diagnostics import ExitCode

KINDS = ("entry", "accounts", "runs", "messages", "observations", "settings", "glossary")


@click.command(
    "schema", cls=Command, help="help.kb.schema", examples=("distkb kb schema", "distkb kb schema --out kb/schema")
)
@click.argument("kind", type=click.Choice(KINDS), default="entry", metavar=f"[{'|'.join(KINDS)}]")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="option.schema-out")
def command(kind: str, out: Path | None) -> ExitCode:
    """Print one schema, or write all of them into a folder."""
    from distkb.catalogue import schema

    if out is None:
        output.write(schema.rendered()[f"{kind}.schema.json"])
    else:
        output.write("".join(f"{path}\n" for path in schema.write(out)))
    return ExitCode.DONE
