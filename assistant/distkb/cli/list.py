"""`distkb list`: every entry by family, and the guides."""

from __future__ import annotations

import click

from distkb.catalogue.guide import load_guides
from distkb.catalogue.places import knowledge_bases
from distkb.cli import knowledge, output
from distkb.cli.command import Command
from distkb.cli.diagnostics import ExitCode, note
from distkb.cli.session import session
from distkb.report import tables


@click.command("list", cls=Command, help="help.list", examples=("distkb list", "distkb list --json"))
@click.option("--json", "as_json", is_flag=True, help="option.json")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> ExitCode:
    """Print all entries."""
    current = session(ctx)
    rows = knowledge.open_knowledge(current).titles()
    if as_json:
        from distkb.report.json import encode

        output.write(encode([{"id": r.id, "slug": r.slug, "family": r.family, "title": r.title} for r in rows]))
        return ExitCode.DONE
    table = [(row.family, row.id, row.title) for row in rows]
    output.write(tables.families(table, current.say, columns=output.columns(), ink=output.ink()))
    guides, _ = load_guides(knowledge_bases(current.overlays))
    listed = [(guide.id, guide.title) for guide in guides]
    output.write(tables.guides(listed, current.say, columns=output.columns(), ink=output.ink()))
    if not rows:
        note(current.say("list.empty"), current.say)
    return ExitCode.DONE
