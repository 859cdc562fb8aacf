"""`distkb probe env`: is the environment that the ranks see the one they need?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from distkb.cli import knowledge, output, probe
from distkb.cli.command import Command
from distkb.cli.diagnostics import ExitCode
from distkb.cli.session import Session, session

if TYPE_CHECKING:
    from distkb.evidence.observation import Observation


@click.command(
    "env",
    cls=Command,
    help="help.probe.env",
    examples=("distkb probe env", "distkb probe env --pid 4242", "distkb probe env --timeouts --log logs/"),
)
@click.option("--pid", "pids", type=click.IntRange(min=1), multiple=True, metavar="PID", help="option.pid")
@click.option("--nproc", type=click.IntRange(min=1), metavar="N", help="option.nproc")
@click.option("--nnodes", type=click.IntRange(min=1), metavar="N", help="option.nnodes")
@click.option("--timeouts", is_flag=True, help="option.timeouts")
@click.option("--log", "logs", type=click.Path(path_type=Path), multiple=True, metavar="PATH", help="option.log")
@probe.probe_options("env")
@click.pass_context
def command(
    ctx: click.Context,
    *,
    pids: tuple[int, ...],
    nproc: int | None,
    nnodes: int | None,
    timeouts: bool,
    logs: tuple[Path, ...],
    python: Path | None,
    deadline: float,
    as_json: bool,
) -> ExitCode:
    """Print what is wrong with the environment, and the timers that can end a run in it."""
    from distkb.probing.conclude import conclude_env
    from distkb.probing.judge import answer

    current = session(ctx)
    chosen = probe.interpreter(python)
    known = knowledge.Knowledge(knowledge.open_knowledge(current))
    seen = _read_logs(logs, known, current)
    request: dict[str, Any] = {"pids": list(pids), "nproc": nproc, "nnodes": nnodes}
    raw = probe.run("env", request, chosen, current, deadline_s=deadline, quiet=as_json)
    concluded = conclude_env(raw.facts, known.catalogue, seen)
    found = answer(
        raw,
        known.catalogue.findings,
        more=concluded.observations,
        facts={**raw.facts, "timers": concluded.timer_facts()},
        interpreter=chosen,
    )
    body = ""
    if (timeouts or logs) and not as_json:
        from distkb.report import timers

        body = timers.write(concluded.timers, current.say, columns=output.columns(), ink=output.ink())
    return probe.finish(found, current, as_json=as_json, body=body)


def _read_logs(logs: tuple[Path, ...], known: knowledge.Knowledge, current: Session) -> tuple[Observation, ...]:
    if not logs:
        return ()
    from distkb.cli.diagnose import say_skipped

    evidence = known.read(logs)
    say_skipped(evidence.skipped, current)
    return evidence.observations
