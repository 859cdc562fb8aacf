"""`distkb repro run D21`: the failure, live, and whether the catalogue recognises it by what it leaves behind."""

from __future__ import annotations

import shlex
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from distkb.cli import diagnostics, knowledge, output, probe
from distkb.cli.command import Command
from distkb.cli.complete import entries
from distkb.cli.diagnostics import ExitCode, Failure, note
from distkb.cli.session import session

if TYPE_CHECKING:
    from distkb.catalogue.model import Entry
    from distkb.cli.session import CommonSettings
    from distkb.locale import Say
    from distkb.probing.interpreter import Interpreter
    from distkb.probing.run import Stage
    from distkb.report.repro import Shown
    from distkb.repro.outcome import ProgramRun
    from distkb.repro.program import Program, Reason
    from distkb.repro.verdict import ReproVerdict


@click.command(
    "run",
    cls=Command,
    help="repro.help.run",
    examples=(
        "distkb repro run D21",
        "distkb repro run D21 --fixed",
        "distkb repro run D21 --keep d21/ && distkb diagnose d21/",
    ),
)
@click.argument("entry", metavar="ENTRY", shell_complete=entries)
@click.option("--fixed", is_flag=True, help="repro.option.fixed")
@click.option("--recorded", is_flag=True, help="repro.option.recorded")
@click.option("--keep", metavar="DIR", type=click.Path(path_type=Path, file_okay=False), help="repro.option.keep")
@click.option("--python", metavar="PY", type=click.Path(path_type=Path), help="option.python")
@click.option("--json", "as_json", is_flag=True, help="option.json")
@click.pass_context
def command(
    ctx: click.Context,
    *,
    entry: str,
    fixed: bool,
    recorded: bool,
    keep: Path | None,
    python: Path | None,
    as_json: bool,
) -> ExitCode:
    """Run one entry's program and print what it showed, and what its artifacts alone say."""
    from distkb.report.repro import Shown

    current = session(ctx)
    known = knowledge.Knowledge(knowledge.open_knowledge(current))
    found = _entry(known, entry)
    if recorded:
        if fixed or keep:
            raise Failure("repro.recorded-alone")
        program = _recorded(found, current)
        shown = Shown(run=None, verdict=_judge(known, found, program.recorded, None, fixed=False))
        return _finish(shown, known, current, kept=program.recorded, as_json=as_json)
    chosen = probe.interpreter(python)
    program = _program(found, chosen, current)
    with ExitStack() as stack:
        folder = keep.absolute() if keep is not None else stack.enter_context(_temporary())
        run = _carry_out(program, folder, chosen, current, fixed=fixed, quiet=as_json)
        shown = Shown(run=run, fixed=fixed, verdict=_judge(known, found, folder, run, fixed=fixed))
        return _finish(shown, known, current, kept=keep, as_json=as_json)


def _temporary() -> AbstractContextManager[Path]:
    from distkb.repro.folder import temporary

    return temporary()


def _entry(known: knowledge.Knowledge, name: str) -> Entry:
    wanted = name.strip().lower()
    for entry in known.catalogue.entries:
        if wanted in (entry.id.lower(), entry.slug.lower()) or wanted.partition(".")[0] == entry.id.lower():
            return entry
    raise Failure("repro.no-entry", name=name)


def _program(entry: Entry, python: Interpreter, current: CommonSettings) -> Program:
    """Return the entry's program; Failure with the reason where it cannot run here."""
    from distkb.catalogue.places import knowledge_bases
    from distkb.repro.program import availability

    found = availability(entry, knowledge_bases(current.overlays), python.path)
    if found.reason is not None or found.program is None:
        reason: Reason = found.reason or "not-written"
        hardware = ""
        if reason == "hardware" and entry.repro is not None:
            hardware = current.say.text(entry.repro.hardware) if entry.repro.hardware else ""
            note(current.say("repro.see-recorded", command=f"distkb repro run {entry.id} --recorded"), current.say)
        sentence = current.say(f"repro.reason.{reason}", hardware=hardware, python=python.path)
        raise Failure("repro.cannot", code=ExitCode.UNABLE, id=entry.id, reason=sentence)
    return found.program


def _recorded(entry: Entry, current: CommonSettings) -> Program:
    from distkb.catalogue.places import knowledge_bases
    from distkb.repro.program import find_program

    program = find_program(entry, knowledge_bases(current.overlays))
    if program is None or not program.recorded.is_dir():
        raise Failure("repro.nothing-recorded", id=entry.id)
    return program


def _carry_out(
    program: Program, folder: Path, python: Interpreter, current: CommonSettings, *, fixed: bool, quiet: bool
) -> ProgramRun:
    """Run the program to its end, its output on stderr; Failure where it could not run at all."""
    from distkb.repro import launch
    from distkb.repro.nodes import NodesUnavailableError
    from distkb.repro.run import NotEmptyError, Reproduction

    say = current.say
    if not quiet:
        typed = shlex.join(launch.command(program, python.path, fixed=fixed))
        note(say("repro.runs", command=typed, seconds=f"{launch.limit(program):.0f}"), say)
    listener = None if quiet else _Live(say)
    try:
        run = Reproduction(program, folder, python.path, fixed=fixed, listener=listener).result()
    except NotEmptyError as taken:
        raise Failure("repro.not-empty", path=str(folder), found=str(taken)) from None
    except NodesUnavailableError as missing:
        reason = say("repro.reason.no-namespaces", detail=str(missing))
        raise Failure("repro.cannot", code=ExitCode.UNABLE, id=program.entry.id, reason=reason) from None
    if run.reason is not None:
        detail = run.detail or run.reason
        raise Failure("repro.broke-off", code=ExitCode.UNABLE, id=program.entry.id, detail=detail)
    return run


class _Live:
    """Shows what a user would see, as it comes."""

    def __init__(self, say: Say) -> None:
        self._say = say

    def __call__(self, event: Stage | str) -> None:
        if isinstance(event, str):
            diagnostics.echo(event)
            return
        sentence = f"repro.stage.{event.stage.removeprefix('repro.')}"
        if self._say.knows(sentence):
            note(self._say(sentence, **event.values), self._say)


def _judge(
    known: knowledge.Knowledge, entry: Entry, folder: Path, run: ProgramRun | None, *, fixed: bool
) -> ReproVerdict:
    from distkb.repro import verdict

    diagnosis = known.diagnose("", [folder], {})
    if fixed and run is not None:
        return verdict.fixed(entry, diagnosis, known.catalogue, succeeded=run.succeeded)
    return verdict.broken(entry, diagnosis)


def _finish(
    shown: Shown, known: knowledge.Knowledge, current: CommonSettings, *, kept: Path | None, as_json: bool
) -> ExitCode:
    from distkb.report import repro as writer
    from distkb.report.meaning import Meanings

    if as_json:
        output.write(writer.run_json(shown, kept))
    else:
        meanings = Meanings(known.catalogue)
        columns, ink = output.columns(), output.ink()
        output.write(writer.run_text(shown, meanings, current.say, kept=kept, columns=columns, ink=ink))
    return ExitCode.DONE if shown.verdict.as_stated else ExitCode.FINDINGS
