"""`distkb kb check`: everything that is wrong with the knowledge base, at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from distkb.cli import output
from distkb.cli.command import Command
from distkb.cli.diagnostics import ExitCode, Failure
from distkb.cli.session import session
from distkb.report.layout import clean

if TYPE_CHECKING:
    from distkb.catalogue.problem import Problem


@click.command(
    "check",
    cls=Command,
    help="help.kb.check",
    examples=("distkb kb check", "distkb kb check D21", "distkb kb check --kb our-kb"),
)
@click.argument("entries", metavar="[ID]...", nargs=-1)
@click.pass_context
def command(ctx: click.Context, entries: tuple[str, ...]) -> ExitCode:
    """Print every problem, or those of some entries, as `file:line:column: message`."""
    from distkb.catalogue.check import all_problems
    from distkb.catalogue.load import load_located
    from distkb.catalogue.places import knowledge_bases
    from distkb.search.idle import idle_aliases

    current = session(ctx)
    loaded = load_located(knowledge_bases(current.overlays))
    problems = sorted([*all_problems(loaded), *idle_aliases(loaded)])
    known = {record.value.id for record in loaded.of("entry")}
    asked = {entry.upper() for entry in entries}
    for name in sorted(asked - known - {_entry(problem) for problem in problems}):
        raise Failure("error.no-entry", name=name)
    if asked:
        problems = [problem for problem in problems if _entry(problem) in asked]
    here = Path.cwd()
    lines = [clean(problem.shown(here)) for problem in problems]
    errors = sum(problem.severity == "error" for problem in problems)
    if errors:
        lines.append(current.say.count("kb.problems", errors))
    else:
        lines.append(current.say.count("kb.sound", len(asked or known)))
    output.write("\n".join(lines) + "\n")
    return ExitCode.FINDINGS if errors else ExitCode.DONE


def _entry(problem: Problem) -> str:
    """Return the id of the entry in whose folder the problem is."""
    return Path(problem.path).parent.name.partition("-")[0]
