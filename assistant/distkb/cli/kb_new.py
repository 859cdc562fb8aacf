"""`distkb kb new ID`: the files of a new entry, with a note in every place that has to be written."""

from __future__ import annotations

from typing import get_args

import click

from distkb.catalogue.model import Family
from distkb.cli import output
from distkb.cli.command import Command
from distkb.cli.diagnostics import ExitCode, Failure
from distkb.cli.session import session


@click.command(
    "new",
    cls=Command,
    help="help.kb.new",
    examples=("distkb kb new D99 --family hangs --slug what-goes-wrong", "distkb kb new ACME1 --kb our-kb"),
)
@click.argument("entry", metavar="ID")
@click.option("--family", type=click.Choice(get_args(Family)), default="hangs", metavar="FAMILY", help="option.family")
@click.option("--slug", default="new-entry", metavar="SLUG", help="option.slug")
@click.pass_context
def command(ctx: click.Context, entry: str, family: str, slug: str) -> ExitCode:
    """Write the skeleton and print its folder."""
    from distkb.catalogue.places import builtin, checkout
    from distkb.catalogue.scaffold import ScaffoldError, scaffold

    current = session(ctx)
    if not current.overlays and checkout() is None:
        raise Failure("error.new-needs-kb")
    home = current.overlays[0] if current.overlays else builtin()
    try:
        created = scaffold(home, entry, family, slug)
    except ScaffoldError as problem:
        raise Failure(f"error.new.{problem.reason}", code=ExitCode.USAGE, **problem.values) from problem
    output.write(f"{created}\n")
    return ExitCode.DONE
