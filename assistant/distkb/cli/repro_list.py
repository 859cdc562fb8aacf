"""`distkb repro list`: which failures can be seen live here, and what the others lack."""

from __future__ import annotations

from pathlib import Path

import click

from distkb.cli import knowledge, output, probe
from distkb.cli.command import Command
from distkb.cli.diagnostics import ExitCode
from distkb.cli.session import session


@click.command("list", cls=Command, help="repro.help.list", examples=("distkb repro list", "distkb repro list --json"))
@click.option("--python", metavar="PY", type=click.Path(path_type=Path), help="option.python")
@click.option("--json", "as_json", is_flag=True, help="option.json")
@click.pass_context
def command(ctx: click.Context, *, python: Path | None, as_json: bool) -> ExitCode:
    """Print every entry with whether its reproduction can run here."""
    from distkb.catalogue.places import knowledge_bases
    from distkb.report import repro as writer
    from distkb.repro.program import list_all

    current = session(ctx)
    entries = knowledge.open_knowledge(current).entries()
    chosen = probe.interpreter(python)
    rows = list_all(entries, knowledge_bases(current.overlays), chosen.path)
    if as_json:
        output.write(writer.list_json(rows))
    else:
        output.write(writer.list_text(rows, current.say, columns=output.columns(), ink=output.ink()))
    return ExitCode.DONE
