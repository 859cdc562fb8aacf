"""`distkb probe env`: is the environment that the ranks see the one they need?"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from distkb.cli import knowledge, output, probe
from distkb.cli.command import Command
from distkb.cli.diagnostics import ExitCode, note
from distkb.cli.session import CommonSettings, session

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
    from distkb.probing import step
    from distkb.probing.conclude import conclude_env, conclude_tasks
    from distkb.probing.env.verdict import listed
    from distkb.probing.judge import answer

    current = session(ctx)
    task = None if pids else step.task_of(os.environ, Path.cwd())
    if task is not None and not step.begin(task):
        note(current.say("note.no-step-folder", path=task.folder), current.say)
        task = None
    is_other = task is not None and task.number > 0
    chosen = probe.interpreter(python)
    known = knowledge.Knowledge(knowledge.open_knowledge(current))
    seen = _read_logs(logs, known, current)
    request: dict[str, Any] = {"pids": list(pids), "nproc": nproc, "nnodes": nnodes}
    request["port"] = task is None or task.is_first_here
    raw = probe.run("env", request, chosen, current, deadline_s=deadline, quiet=as_json or is_other)
    until = time.monotonic() + deadline + step.LATER_S
    if task is not None and is_other and step.hand_over(task, raw, until):
        return ExitCode.DONE
    tasks = step.gather(task, raw, until) if task is not None and not is_other else {}
    concluded = conclude_env(raw.facts, known.catalogue, seen)
    observations = concluded.observations
    facts = {**raw.facts, "timers": concluded.timer_facts()}
    missing: list[int] = []
    if task is not None:
        missing = [number for number in range(task.count) if number not in tasks and number != task.number]
        facts["tasks"] = {"count": task.count, "missing": missing}
        observations = conclude_tasks({n: other.facts for n, other in tasks.items()} or {task.number: raw.facts},
                                      known.catalogue, seen)  # fmt: skip
        if missing:
            note(current.say("note.tasks-missing", tasks=listed(missing), count=task.count), current.say)
    found = answer(raw, known.catalogue.findings, more=observations, facts=facts, interpreter=chosen)
    body = ""
    if (timeouts or logs) and not as_json:
        from distkb.report import timers

        body = timers.write(concluded.timers, current.say, columns=output.columns(), ink=output.ink())
    code = probe.finish(found, current, as_json=as_json, body=body)
    return ExitCode.UNABLE if missing and code == ExitCode.DONE else code


def _read_logs(logs: tuple[Path, ...], known: knowledge.Knowledge, current: CommonSettings) -> tuple[Observation, ...]:
    if not logs:
        return ()
    from distkb.cli.diagnose import say_skipped

    evidence = known.read(logs)
    say_skipped(evidence.skipped, current)
    return evidence.observations
