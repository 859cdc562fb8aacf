"""What the commands of `distkb probe` share: the interpreter, the run with its progress, and the answer."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from distkb.cli import output
from distkb.cli.diagnostics import ExitCode, Failure, note
from distkb.probing.registry import PROBES

if TYPE_CHECKING:
    from distkb.cli.knowledge import Knowledge
    from distkb.cli.session import CommonSettings
    from distkb.evidence.artifact import ArtifactReading
    from distkb.evidence.observation import Observation
    from distkb.locale import Say
    from distkb.probing.document import ProbeAnswer, RawDocument
    from distkb.probing.interpreter import Interpreter
    from distkb.probing.run import Stage

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


FORMATS = ("text", "json", "github", "sarif")


def format_options(function: Decorated) -> Decorated:
    """Add `--format` and `--json`, for the probes that read files which stand in a repository."""
    function = click.option("--json", "as_json", is_flag=True, help="option.json")(function)
    return click.option("--format", "form", type=click.Choice(FORMATS), help="option.format")(function)


def probe_options(name: str, *, with_json: bool = True) -> Callable[[Decorated], Decorated]:
    """Add the options of every probe that runs a process: `--python`, `--deadline` and `--json`."""
    deadline_s = PROBES[name].deadline_s

    def add(function: Decorated) -> Decorated:
        for option in (
            *([click.option("--json", "as_json", is_flag=True, help="option.json")] if with_json else ()),
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
    probe: str,
    request: Mapping[str, Any],
    python: Interpreter,
    current: CommonSettings,
    *,
    deadline_s: float,
    quiet: bool,
) -> RawDocument:
    """Run a probe to its end. On a terminal its progress is shown on stderr; Ctrl-C ends it with all its processes."""
    from distkb.probing.run import ProbeRun

    listener = announce(probe, python, current, quiet=quiet)
    return ProbeRun(probe, request, python.path, deadline_s=deadline_s, listener=listener).result()


def announce(probe: str, python: Interpreter, current: CommonSettings, *, quiet: bool) -> _Progress | None:
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


def finish(
    answer: ProbeAnswer, current: CommonSettings, *, as_json: bool, form: str | None = None, body: str = ""
) -> ExitCode:
    """Print the answer and return the exit code that it means."""
    from distkb.report import annotations
    from distkb.report import probe as writer

    if as_json and form not in (None, "json"):
        raise Failure("error.two-formats")
    if as_json or form == "json":
        output.write(writer.write_json(answer))
    elif form == "github":
        output.write(annotations.github(answer, current.say, Path.cwd()))
    elif form == "sarif":
        output.write(annotations.sarif(answer, current.say, Path.cwd()))
    else:
        output.write(writer.write(answer, current.say, columns=output.columns(), ink=output.ink(), body=body))
    if answer.status in ("skipped", "error"):
        return ExitCode.UNABLE
    return ExitCode.FINDINGS if answer.status == "findings" else ExitCode.DONE


def finish_reading(
    name: str,
    reading: ArtifactReading,
    known: Knowledge,
    current: CommonSettings,
    *,
    as_json: bool,
    form: str | None = None,
    more: Sequence[Observation] = (),
) -> ExitCode:
    """Print what stands in files that were read, as the answer of a probe that starts no process."""
    from distkb.cli.diagnose import say_skipped
    from distkb.probing.document import RawDocument
    from distkb.probing.judge import answer

    say_skipped(reading.skipped, current)
    if not (reading.facts.get("scripts") or reading.facts.get("configs")):
        raise Failure("error.nothing-read")
    raw = RawDocument(schema="distkb.probe-raw/1", probe=name, status="ok")
    found = answer(raw, known.catalogue.findings, more=(*reading.said(), *more), facts=reading.facts)
    return finish(found, current, as_json=as_json, form=form)


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
