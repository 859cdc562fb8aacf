"""`distkb probe trace`: where did each rank stop, by the checkpoints that it printed?"""

from __future__ import annotations

from pathlib import Path

import click

from distkb.cli import knowledge, output, probe
from distkb.cli.command import Command
from distkb.cli.diagnostics import ExitCode, Failure
from distkb.cli.session import session


@click.command(
    "trace",
    cls=Command,
    help="help.probe.trace",
    examples=("distkb probe trace distkb-trace/", "distkb probe trace logs/rank_*.log"),
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="option.json")
@click.pass_context
def command(ctx: click.Context, *, paths: tuple[Path, ...], as_json: bool) -> ExitCode:
    """Print which rank stopped at which checkpoint, and what that means."""
    from distkb.cli.diagnose import say_skipped
    from distkb.evidence.readers.traces import read_traces
    from distkb.probing.document import RawDocument
    from distkb.probing.judge import answer

    current = session(ctx)
    reading = read_traces(paths)
    say_skipped(reading.skipped, current)
    if not reading.facts:
        raise Failure("error.nothing-read")
    known = knowledge.Knowledge(knowledge.open_knowledge(current))
    raw = RawDocument(schema="distkb.probe-raw/1", probe="trace", status="ok")
    found = answer(raw, known.catalogue.findings, more=reading.said(), facts=reading.facts)
    body = ""
    if not as_json:
        from distkb.report import traces

        body = traces.write(reading.facts, current.say, columns=output.columns(), ink=output.ink())
    return probe.finish(found, current, as_json=as_json, body=body)
