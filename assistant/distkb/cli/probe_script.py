"""`distkb probe script`: training scripts, read without running them."""

from __future__ import annotations

from pathlib import Path

import click

from distkb.cli import knowledge, probe, probe_launch
from distkb.cli.command import Command
from distkb.cli.diagnostics import ExitCode, Failure
from distkb.cli.session import session


@click.command(
    "script",
    cls=Command,
    help="help.probe.script",
    examples=("distkb probe script train.py", "distkb probe script my_project/ --json"),
)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@probe.format_options
@click.pass_context
def command(ctx: click.Context, *, paths: tuple[Path, ...], form: str | None, as_json: bool) -> ExitCode:
    """Print what is wrong with the scripts given, which count as one project, and with launch files beside them."""
    from distkb.evidence.readers.configs import find_launches, read_configs
    from distkb.evidence.readers.scripts import find_scripts, read_scripts

    current = session(ctx)
    known = knowledge.Knowledge(knowledge.open_knowledge(current))
    named = [path for path in paths if not path.is_dir()]
    launches = find_launches(named)
    scripts = [path for path in dict.fromkeys((*named, *find_scripts(paths))) if path not in launches]
    if launches and not scripts:
        return probe_launch.answer(launches, known, current, form=form, as_json=as_json)
    if not scripts:
        raise Failure("error.no-scripts", path=str(paths[0]))
    reading = read_scripts(scripts, follow=True)
    configured = read_configs((*scripts, *launches), known.catalogue.settings, {}, refusals=known.catalogue.refusals)
    more = configured.said()
    return probe.finish_reading("script", reading, known, current, more=more, as_json=as_json, form=form)
