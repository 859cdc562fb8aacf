"""Opens the screen, which is imported by name: no other command pays for it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from distkb.cli.command import Command
from distkb.cli.diagnostics import ExitCode
from distkb.cli.session import CommonSettings, session
from distkb.locale import asked


def open_screen(current: CommonSettings, *, paths: Sequence[Path] = (), resume: str | None = None) -> ExitCode:
    """Run the screen until it is left; returns its exit code."""
    app = importlib.import_module("distkb.tui.app")
    chosen = asked(sys.argv[1:])
    return ExitCode(app.run(current.say, paths=paths, overlays=current.overlays, resume=resume, chosen=chosen))


@click.command("screen", cls=Command, help="help.screen", hidden=True)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.pass_context
def command(ctx: click.Context, paths: tuple[Path, ...]) -> ExitCode:
    """Open the screen with what was given."""
    return open_screen(session(ctx), paths=paths)
