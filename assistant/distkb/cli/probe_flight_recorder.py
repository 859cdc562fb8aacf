"""`distkb probe flight-recorder`: who called which collective, from the flight recorder's dumps of all ranks."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from distkb.cli import knowledge, output, probe
from distkb.cli.command import Command
from distkb.cli.diagnostics import ExitCode, Failure
from distkb.cli.session import CommonSettings, session

if TYPE_CHECKING:
    from distkb.evidence.artifact import ArtifactReading
    from distkb.probing.document import ProbeAnswer

NAME = "flight-recorder"


@click.command(
    NAME,
    cls=Command,
    help="help.probe.flight-recorder",
    examples=(
        "distkb probe flight-recorder ~/.cache/torch",
        "distkb probe flight-recorder node0/nccl_trace_rank_0 node1/nccl_trace_rank_1",
    ),
)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="option.json")
@click.pass_context
def command(ctx: click.Context, *, paths: tuple[Path, ...], as_json: bool) -> ExitCode:
    """Print what the dumps say together."""
    from distkb.probing.document import RawDocument
    from distkb.probing.judge import answer

    current = session(ctx)
    start = time.perf_counter()
    reading = _read(paths, current)
    known = knowledge.Knowledge(knowledge.open_knowledge(current))
    raw = RawDocument(
        schema="distkb.probe-raw/1", probe=NAME, status="ok", elapsed_s=round(time.perf_counter() - start, 3)
    )
    found = answer(raw, known.catalogue.findings, more=reading.said(), facts=reading.facts)
    return probe.finish(found, current, as_json=as_json, body="" if as_json else _body(found, current))


def _read(paths: tuple[Path, ...], current: CommonSettings) -> ArtifactReading:
    from distkb.cli.diagnose import say_skipped
    from distkb.evidence.observation import Skipped
    from distkb.evidence.readers.flight_recorder import find_flight_recorder, read_flight_recorder

    for path in paths:
        if not path.exists():
            say_skipped([Skipped(path=str(path), code="missing")], current)
    named = [path for path in paths if path.is_file()]
    inside = find_flight_recorder([path for path in paths if path.is_dir()])
    reading = read_flight_recorder(list(dict.fromkeys([*named, *inside])))
    say_skipped(reading.skipped, current)
    if not reading.facts:
        raise Failure("error.no-dumps")
    return reading


def _body(found: ProbeAnswer, current: CommonSettings) -> str:
    from distkb.report import flight_recorder

    return flight_recorder.write(found.facts, current.say, columns=output.columns(), ink=output.ink())
