"""What the commands of `distkb probe` share: the interpreter, the run with its progress, and the answer."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from distkb.cli import output
from distkb.cli.diagnostics import ExitCode, Failure, note

if TYPE_CHECKING:
    from distkb.cli.session import Session
    from distkb.locale import Say
    from distkb.probing.document import ProbeAnswer, RawDocument
    from distkb.probing.interpreter import Interpreter
    from distkb.probing.run import Stage

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def probe_options(deadline_s: float) -> Callable[[Decorated], Decorated]:
    """Add the options of every probe that runs a process: `--python`, `--deadline` and `--json`."""

    def add(function: Decorated) -> Decorated:
        for option in (
            click.option("--json", "as_json", is_flag=True, help="option.json"),
            click.option(
                "--deadline",
                type=click.FloatRange(min=1.0),
                default=deadline_s,
                metavar="SECONDS",
                help="option.deadline",
            ),
            click.option("--python", metavar="PY", type=click.Path(path_type=Path), help="option.python"),
        ):
            function = option(function)
        return function

    return add


def interpreter(asked: Path | None) -> Interpreter:
    """Return the Python to run a probe with; Failure where the one asked for does not start."""
    from distkb.probing.interpreter import NoInterpreterError, find_interpreter

    try:
        return find_interpreter(asked)
    except NoInterpreterError as missing:
        raise Failure("error.no-python", path=str(missing)) from None


def run(
    probe: str, request: Mapping[str, Any], python: Interpreter, current: Session, *, deadline_s: float, quiet: bool
) -> RawDocument:
    """Run a probe to its end. On a terminal its progress is shown on stderr; Ctrl-C ends it with all its processes."""
    from distkb.probing.run import ProbeRun

    listener = announce(probe, python, current, quiet=quiet)
    return ProbeRun(probe, request, python.path, deadline_s=deadline_s, listener=listener).result()


def announce(probe: str, python: Interpreter, current: Session, *, quiet: bool) -> _Progress | None:
    """Say what will be run, and return who shows its progress, on a terminal."""
    say = current.say
    if not quiet:
        why = say(f"probe.why.{python.why}" if python.has_torch or python.why == "asked" else "probe.why.no-torch")
        note(say("probe.runs", probe=probe, python=python.path, why=why), say)
    return _Progress(say) if not quiet and sys.stderr.isatty() else None


class _Progress:
    """Shows the stages of a probe on stderr as they come."""

    def __init__(self, say: Say) -> None:
        self._say = say

    def __call__(self, event: Stage | str) -> None:
        if isinstance(event, str):
            return
        key = f"probe.stage.{event.stage}"
        if self._say.knows(key):
            note(self._say(key, **event.values), self._say)


def finish(answer: ProbeAnswer, current: Session, *, as_json: bool, body: str = "") -> ExitCode:
    """Print the answer and return the exit code that it means."""
    from distkb.report import probe as writer

    if as_json:
        output.write(writer.write_json(answer))
    else:
        output.write(writer.write(answer, current.say, columns=output.columns(), ink=output.ink(), body=body))
    if answer.status in ("skipped", "error"):
        return ExitCode.UNABLE
    return ExitCode.FINDINGS if answer.status == "findings" else ExitCode.DONE


_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def parse_size(text: str) -> int:
    """Return a size such as `80G`, `80GiB` or `512m` in bytes: 1G is 2**30. Raises Failure for anything else."""
    number = text.strip().lower().removesuffix("b").removesuffix("i")
    unit = number[-1:] if number[-1:] in _UNITS else ""
    try:
        size = float(number.removesuffix(unit)) * _UNITS[unit]
    except ValueError:
        raise Failure("error.size", given=text) from None
    if not 0 < size < float(1 << 60):
        raise Failure("error.size", given=text)
    return int(size)
