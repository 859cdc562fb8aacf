"""`distkb probe script`: training scripts, read without running them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from distkb.cli import knowledge, probe
from distkb.cli.command import Command
from distkb.cli.diagnostics import ExitCode, Failure
from distkb.cli.session import Session, session

if TYPE_CHECKING:
    from distkb.evidence.artifact import ArtifactReading


@click.command(
    "script",
    cls=Command,
    help="help.probe.script",
    examples=("distkb probe script train.py", "distkb probe script my_project/ --json"),
)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="option.json")
@click.pass_context
def command(ctx: click.Context, *, paths: tuple[Path, ...], as_json: bool) -> ExitCode:
    """Print what is wrong with the scripts given, which count as one project."""
    current = session(ctx)
    reading = _read(paths, current)
    known = knowledge.Knowledge(knowledge.open_knowledge(current))
    from distkb.evidence.readers.configs import read_configs
    from distkb.probing.document import RawDocument
    from distkb.probing.judge import answer

    configured = read_configs(_scripts(paths), known.catalogue.settings, {})
    raw = RawDocument(schema="distkb.probe-raw/1", probe="script", status="ok")
    found = answer(
        raw,
        known.catalogue.findings,
        more=(*reading.said(), *configured.said()),
        facts=reading.facts,
    )
    return probe.finish(found, current, as_json=as_json)


def _scripts(paths: tuple[Path, ...]) -> list[Path]:
    from distkb.evidence.readers.scripts import find_scripts

    found = find_scripts(paths)
    named = [path for path in paths if not path.is_dir()]
    return list(dict.fromkeys((*named, *found)))


def _read(paths: tuple[Path, ...], current: Session) -> ArtifactReading:
    from distkb.cli.diagnose import say_skipped
    from distkb.evidence.readers.scripts import read_scripts

    scripts = _scripts(paths)
    if not scripts:
        raise Failure("error.no-scripts", path=str(paths[0]))
    reading = read_scripts(scripts)
    say_skipped(reading.skipped, current)
    if not reading.facts.get("scripts"):
        raise Failure("error.nothing-read")
    return reading
