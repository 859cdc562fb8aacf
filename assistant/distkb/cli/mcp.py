"""`distkb mcp`: the commands as tools for coding agents, on stdin and stdout."""

from __future__ import annotations

from pathlib import Path

import click

from distkb.cli.command import Command
from distkb.cli.diagnostics import ExitCode, Failure
from distkb.cli.session import session


@click.command(
    "mcp",
    cls=Command,
    help="help.mcp",
    examples=("distkb mcp --root /scratch/runs --root .", "distkb mcp --root . --allow-probes"),
)
@click.option("--root", "roots", multiple=True, metavar="DIR", type=click.Path(path_type=Path), help="option.mcp-root")
@click.option("--allow-probes", is_flag=True, help="option.mcp-allow-probes")
@click.pass_context
def command(ctx: click.Context, roots: tuple[Path, ...], allow_probes: bool) -> ExitCode:
    """Serve until the client goes."""
    from importlib.util import find_spec

    current = session(ctx)
    if find_spec("mcp") is None:
        raise Failure("error.no-mcp", code=ExitCode.UNABLE)
    for root in roots:
        if not root.is_dir():
            raise Failure("error.new.folder", path=root)
    from distkb.mcp.server import Server

    Server(roots or (Path(),), current.overlays, current.say, allow_probes=allow_probes).run()
    return ExitCode.DONE
