"""`distkb watch`: stays beside a job, and says which rank stands at which line when it does not go on."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from distkb.cli import output
from distkb.cli.command import Command
from distkb.cli.diagnostics import ExitCode, Failure, note
from distkb.cli.session import CommonSettings, session

if TYPE_CHECKING:
    from distkb.watching.event import Event
    from distkb.watching.started import Signals
    from distkb.watching.started import StartedCommand as Started
    from distkb.watching.watcher import Options

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|sec|m|min|h)?")
_SLURM_JOB = re.compile(r"\d{1,10}(_\d{1,10})?")
_UNITS = {"": 1.0, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


@click.command(
    "watch",
    cls=Command,
    help="help.watch",
    examples=(
        "distkb watch -- torchrun --nproc-per-node 4 train.py",
        "distkb watch --stall 5m --exec 'mail -s stalled me < $DISTKB_ANSWER' -- torchrun train.py",
        "distkb watch --pid 4242 --once",
    ),
)
@click.argument("words", nargs=-1, metavar="[-- COMMAND...]", type=click.UNPROCESSED)
@click.option("--pid", "pids", type=click.IntRange(min=1), multiple=True, metavar="PID", help="watch.option.pid")
@click.option("--job", metavar="ID", help="watch.option.job")
@click.option("--stall", metavar="TIME", help="watch.option.stall")
@click.option("--log", "logs", type=click.Path(path_type=Path), multiple=True, metavar="FILE", help="watch.option.log")
@click.option("--tee", metavar="DIR", type=click.Path(path_type=Path, file_okay=False), help="watch.option.tee")
@click.option("--out", metavar="DIR", type=click.Path(path_type=Path, file_okay=False), help="watch.option.out")
@click.option("--archive", is_flag=True, help="watch.option.archive")
@click.option("--exec", "execute", metavar="COMMAND", help="watch.option.exec")
@click.option("--once", is_flag=True, help="watch.option.once")
@click.option("--kill-after", metavar="TIME", help="watch.option.kill-after")
@click.option("--python", metavar="PY", type=click.Path(path_type=Path), help="option.python")
@click.option("--examine", is_flag=True, hidden=True)
@click.pass_context
def command(
    ctx: click.Context,
    *,
    words: tuple[str, ...],
    pids: tuple[int, ...],
    job: str | None,
    stall: str | None,
    logs: tuple[Path, ...],
    tee: Path | None,
    out: Path | None,
    archive: bool,
    execute: str | None,
    once: bool,
    kill_after: str | None,
    python: Path | None,
    examine: bool,
) -> int:
    """Start the command or find the job, and watch it to its end."""
    current = session(ctx)
    if examine:
        from distkb.cli.watch_examine import examine as look

        return look(current)
    if sys.platform != "linux":
        raise Failure("watch.error.linux", code=ExitCode.UNABLE)
    if words and (pids or job is not None):
        raise Failure("watch.error.both")
    if tee is not None and not words:
        raise Failure("watch.error.tee")
    from distkb.catalogue.places import state_directory
    from distkb.watching.watcher import Options

    options = Options(
        pids=pids,
        slurm_job=job,
        logs=logs,
        stall_s=None if stall is None else seconds(stall),
        out=(out or state_directory() / "watch").absolute(),
        archive=archive,
        execute=execute,
        kill_after_s=None if kill_after is None else seconds(kill_after),
        once=once,
        python=python,
        columns=output.columns(),
        examine=_arguments(current),
    )
    return _watch_started(words, tee, options, current) if words else _attach(options, current)


def seconds(text: str) -> float:
    """Return a time such as `90`, `90s`, `5m` or `1.5h` in seconds. Raises Failure for anything else."""
    found = _DURATION.fullmatch(text.strip().lower())
    if found is None or not 1.0 <= (value := float(found[1]) * _UNITS[found[2] or ""]) <= 1e7:
        raise Failure("watch.error.time", given=text)
    return value


def _arguments(current: CommonSettings) -> tuple[str, ...]:
    overlays = [word for path in current.overlays for word in ("--kb", str(path))]
    return ("watch", "--examine", "--lang", current.say.lang, *overlays)


def _watch_started(words: Sequence[str], tee: Path | None, options: Options, current: CommonSettings) -> int:
    from distkb.watching.started import NotStartedError, Passing, Signals
    from distkb.watching.started import StartedCommand as Started
    from distkb.watching.watcher import Watcher

    passing = None if tee is None else Passing(tee.absolute())
    signals = Signals(forward=True)
    try:
        started: Started = Started(words, signals, passing)
    except NotStartedError as problem:
        signals.restore()
        raise Failure("watch.error.not-started", code=ExitCode.UNABLE, command=str(problem)) from None
    watcher = Watcher(options, _Teller(current, started=started), signals, started)
    code = watcher.run()
    return ExitCode.UNABLE if code is None else code


def _attach(options: Options, current: CommonSettings) -> int:
    from distkb.watching.processes import NoSuchProcessError, SeveralJobsError, find
    from distkb.watching.started import Signals
    from distkb.watching.watcher import Watcher

    options = _numbered(options)
    try:
        found = find(options.pids, options.slurm_job)
    except NoSuchProcessError as missing:
        raise Failure("watch.error.no-process", code=ExitCode.UNABLE, pid=missing.args[0]) from None
    except SeveralJobsError as several:
        raise Failure("watch.error.several", jobs=str(several)) from None
    if not found:
        options = _elsewhere(options)
    signals: Signals = Signals(forward=False)
    watcher = Watcher(options, _Teller(current, started=None), signals)
    watcher.run()
    return ExitCode.FINDINGS if watcher.stalls else ExitCode.DONE


def _numbered(options: Options) -> Options:
    """Return the options with the number by which the ranks know their Slurm job: a task of an array has its own."""
    import msgspec

    from distkb.watching import slurm

    if options.slurm_job is None:
        return options
    if _SLURM_JOB.fullmatch(options.slurm_job) is None:
        raise Failure("error.stacks-job-id", given=options.slurm_job)
    job = slurm.show(options.slurm_job)
    tasks = () if job is None else job.running or job.waiting
    if len(tasks) > 1 or any(not task.single for task in tasks):
        raise Failure("watch.error.tasks", job=options.slurm_job, tasks=", ".join(task.name for task in tasks[:8]))
    return msgspec.structs.replace(options, slurm_job=tasks[0].number) if tasks else options


def _elsewhere(options: Options) -> Options:
    """Return how to watch a Slurm job none of whose ranks runs here; Failure where nothing can be watched."""
    import msgspec

    from distkb.watching import slurm

    if options.slurm_job is None:
        raise Failure("watch.error.nothing", code=ExitCode.UNABLE)
    job = slurm.show(options.slurm_job)
    if job is None or not job.live:
        raise Failure("watch.error.no-job", code=ExitCode.UNABLE, job=options.slurm_job)
    return msgspec.structs.replace(options, elsewhere=True, logs=(*options.logs, *job.outputs))


class _Teller:
    """Tells the user what happens. Beside a command that we started, stdout is that command's alone."""

    def __init__(self, current: CommonSettings, *, started: Started | None) -> None:
        self._say = current.say
        self._started = started

    def __call__(self, event: Event) -> None:
        from distkb.report import watch
        from distkb.report.page import plain

        say = self._say
        if event.kind == "stalled":
            # Colours are for stdout, which a command that we started has for itself.
            self._page(watch.stalled(event, say, output.columns(), output.ink() if self._started is None else plain))
            if sys.stderr.isatty():
                sys.stderr.write("\a")
        elif event.kind == "answer":
            self._page(event.text)
            note(watch.kept(event.bundle, event.answer, say), say)
        elif event.kind != "found" or self._started is None:
            note(watch.line(event, say), say)

    def _page(self, text: str) -> None:
        if self._started is None:
            output.write(text + "\n")
        else:
            from distkb.cli.diagnostics import write

            write(text)
