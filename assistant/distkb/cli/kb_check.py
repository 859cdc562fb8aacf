"""`distkb kb check`: everything that is wrong with the knowledge base, at once."""

from __future__ import annotations

from pathlib import Path

import click

from distkb.cli import output
from distkb.cli.command import Command
from distkb.cli.diagnostics import ExitCode
from distkb.cli.session import session
from distkb.report.layout import clean


@click.command("check", cls=Command, help="help.kb.check", examples=("distkb kb check", "distkb kb check --kb our-kb"))
@click.pass_context
def command(ctx: click.Context) -> ExitCode:
    """Print every problem as `file:line:column: message`."""
    from distkb.catalogue.check import all_problems
    from distkb.catalogue.load import load_located
    from distkb.catalogue.places import knowledge_bases
    from distkb.search.idle import idle_aliases

    current = session(ctx)
    loaded = load_located(knowledge_bases(current.overlays))
    problems = sorted([*all_problems(loaded), *idle_aliases(loaded)])
    here = Path.cwd()
    lines = [clean(problem.shown(here)) for problem in problems]
    errors = sum(problem.severity == "error" for problem in problems)
    if errors:
        lines.append(current.say.count("kb.problems", errors))
    else:
        lines.append(current.say.count("kb.sound", len(loaded.of("entry"))))
    output.write("\n".join(lines) + "\n")
    return ExitCode.FINDINGS if errors else ExitCode.DONE
