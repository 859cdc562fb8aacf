"""`distkb show D21`: one entry, whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from distkb.cli import knowledge, output
from distkb.cli.command import Command
from distkb.cli.diagnostics import ExitCode, Failure
from distkb.cli.session import session

if TYPE_CHECKING:
    from distkb.catalogue.compiled import Compiled


@click.command(
    "show",
    cls=Command,
    help="help.show",
    examples=("distkb show D21", "distkb show D21 --lang ko", "distkb show D21 --json"),
)
@click.argument("entry", metavar="ENTRY")
@click.option("--json", "as_json", is_flag=True, help="option.json")
@click.pass_context
def command(ctx: click.Context, entry: str, as_json: bool) -> ExitCode:
    """Print one entry."""
    current = session(ctx)
    compiled = knowledge.open_knowledge(current)
    identity = _find(compiled, entry)
    catalogue = compiled.catalogue()
    found = next(e for e in catalogue.entries if e.id == identity)
    if as_json:
        from distkb.report.json import encode

        output.write(encode(found))
        return ExitCode.DONE
    from distkb.report import entry as view
    from distkb.report.meaning import Meanings

    output.write(view.write(found, Meanings(catalogue), current.say, columns=output.columns(), ink=output.ink()))
    return ExitCode.DONE


def _find(compiled: Compiled, name: str) -> str:
    """Return the id of the entry that `name` means: its id in any case, the id of one of its causes, or its slug."""
    names = {row.id.lower(): row.id for row in compiled.titles()}
    names |= {row.slug.lower(): row.id for row in compiled.titles()}
    wanted = name.strip().lower()
    found = names.get(wanted) or names.get(wanted.partition(".")[0])
    if found is None:
        raise _unknown(name, [row.slug for row in compiled.titles()])
    return found


def _unknown(name: str, slugs: list[str]) -> Failure:
    """Return the failure for a name that means no entry. Only slugs are guessed: alike ids mean other things."""
    from difflib import get_close_matches

    near = get_close_matches(name.strip().lower(), slugs, n=1)
    return Failure("error.no-entry-near", name=name, near=near[0]) if near else Failure("error.no-entry", name=name)
