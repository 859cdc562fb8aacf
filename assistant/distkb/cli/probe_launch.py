"""`distkb probe launch`: launch files (sbatch, shell, torchrun lines), read as a shell reads them and never run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from distkb.cli import knowledge, probe
from distkb.cli.command import Command
from distkb.cli.diagnostics import ExitCode, Failure
from distkb.cli.session import CommonSettings, session


@click.command(
    "launch",
    cls=Command,
    help="help.probe.launch",
    examples=("distkb probe launch train.sbatch", "distkb probe launch scripts/ --format github"),
)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@probe.format_options
@click.pass_context
def command(ctx: click.Context, *, paths: tuple[Path, ...], form: str | None, as_json: bool) -> ExitCode:
    """Print what goes wrong with the launches given, and the corrected commands."""
    current = session(ctx)
    known = knowledge.Knowledge(knowledge.open_knowledge(current))
    return answer(_files(paths), known, current, form=form, as_json=as_json)


def _files(paths: Sequence[Path]) -> list[Path]:
    """Return the files that were named, and the launch files of the folders; Failure where there are none."""
    from distkb.evidence.readers.configs import find_launches

    folders = [path for path in paths if path.is_dir()]
    found = [*(path for path in paths if path not in folders), *(find_launches(folders) if folders else ())]
    if not found:
        raise Failure("error.no-launch-files", path=str(paths[0]))
    return found


def answer(
    paths: Sequence[Path], known: knowledge.Knowledge, current: CommonSettings, *, form: str | None, as_json: bool
) -> ExitCode:
    """Print the answer for launch files, whichever probe they were given to."""
    from distkb.evidence.readers.configs import read_configs

    reading = read_configs(paths, known.catalogue.settings, {}, refusals=known.catalogue.refusals)
    return probe.finish_reading("launch", reading, known, current, as_json=as_json, form=form)
