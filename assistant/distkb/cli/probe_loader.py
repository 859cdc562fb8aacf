"""`distkb probe loader`: do the ranks get loaders that fit together?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from distkb.cli import knowledge, output, probe
from distkb.cli.command import Command
from distkb.cli.diagnostics import ExitCode
from distkb.cli.session import session


@click.command(
    "loader",
    cls=Command,
    help="help.probe.loader",
    examples=(
        "distkb probe loader --loader my_project.data:build --world-size 8",
        "distkb probe loader --loader train.py:make_loader --world-size 2 --epochs 3",
    ),
)
@click.option("--loader", required=True, metavar="MODULE:CALLABLE", help="option.loader")
@click.option("--world-size", type=click.IntRange(2, 4096), default=4, metavar="N", help="option.loader-world-size")
@click.option("--epochs", type=click.IntRange(1, 20), default=2, metavar="N", help="option.epochs")
@click.option("--max-batches", type=click.IntRange(min=1), default=50, metavar="N", help="option.max-batches")
@probe.probe_options("loader")
@click.pass_context
def command(
    ctx: click.Context,
    *,
    loader: str,
    world_size: int,
    epochs: int,
    max_batches: int,
    python: Path | None,
    deadline: float,
    as_json: bool,
) -> ExitCode:
    """Print how the loaders of the ranks differ, and which samples are read twice or never."""
    from distkb.probing.judge import answer

    current = session(ctx)
    known = knowledge.Knowledge(knowledge.open_knowledge(current))
    chosen = probe.interpreter(python)
    request: dict[str, Any] = {
        "loader": loader,
        "world_size": world_size,
        "epochs": epochs,
        "max_batches": max_batches,
        "seconds": max(1.0, 0.8 * deadline - 3.0),
        "directory": str(Path.cwd()),
    }
    raw = probe.run("loader", request, chosen, current, deadline_s=deadline, quiet=as_json)
    found = answer(raw, known.catalogue.findings, interpreter=chosen)
    body = ""
    if not as_json:
        from distkb.report import loaders

        body = loaders.write(found.facts, current.say, columns=output.columns(), ink=output.ink())
    return probe.finish(found, current, as_json=as_json, body=body)
