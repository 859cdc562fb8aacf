"""`distkb diagnose PATH...`: from what a run left behind to the cause and its fix, without a question."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from distkb.cli import complete, knowledge, output
from distkb.cli.command import Command
from distkb.cli.diagnostics import ExitCode, Failure, error, note
from distkb.cli.reports import read_report
from distkb.cli.session import CommonSettings, session
from distkb.cli.stdin import with_stdin

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from distkb.catalogue.model import Fact
    from distkb.diagnosis.model import Diagnosis
    from distkb.evidence.observation import Skipped


@click.command(
    "diagnose",
    cls=Command,
    help="help.diagnose",
    examples=(
        "distkb diagnose logs/",
        "distkb diagnose logs/ --fact symptom=hang --fact nodes=multi",
        "distkb diagnose --report problem.txt --json",
        "distkb diagnose - < job.log",
    ),
)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--report", metavar="FILE|-", help="option.report")
@click.option("--fact", "facts", multiple=True, metavar="NAME=VALUE", shell_complete=complete.facts, help="option.fact")
@click.option("--json", "as_json", is_flag=True, help="option.json")
@click.option("--markdown", "as_markdown", is_flag=True, help="option.markdown")
@click.pass_context
def command(
    ctx: click.Context,
    paths: tuple[Path, ...],
    report: str | None,
    facts: tuple[str, ...],
    as_json: bool,
    as_markdown: bool,
) -> ExitCode:
    """Print the ranked causes of what was given."""
    current = session(ctx)
    if as_json and as_markdown:
        raise Failure("error.two-formats")
    if not paths and report is None and not facts:
        raise Failure("error.nothing-given")
    if report == "-" and Path("-") in paths:
        raise Failure("error.stdin-twice")
    paths = with_stdin(paths)
    known = knowledge.Knowledge(knowledge.open_knowledge(current))
    given = parse_facts(facts, known.catalogue.facts)
    words = "" if report is None else read_report(report, current.say)
    if not paths and not words.strip() and not given:
        raise Failure("error.nothing-read")
    report_name = None if report == "-" else report
    diagnosis = known.diagnose(words, paths, given, report_name=report_name)
    say_skipped(diagnosis.evidence.skipped, current)
    nothing_read = not diagnosis.evidence.bytes_read and not words.strip() and not given
    if nothing_read:
        error(current.say("error.nothing-read"), current.say)
    if not nothing_read or as_json:
        output.write(_written(diagnosis, known, current, as_json=as_json, as_markdown=as_markdown))
    return _exit_code(diagnosis, nothing_read=nothing_read)


def _written(
    diagnosis: Diagnosis, known: knowledge.Knowledge, current: CommonSettings, *, as_json: bool, as_markdown: bool
) -> str:
    from distkb.report.meaning import Meanings

    meanings = Meanings(known.catalogue)
    if as_json:
        from distkb.report import json

        return json.write(diagnosis, meanings)
    if as_markdown:
        from distkb.report import markdown

        return markdown.write(diagnosis, meanings, current.say)
    from distkb.report import text

    return text.write(diagnosis, meanings, current.say, columns=output.columns(), ink=output.ink())


def _exit_code(diagnosis: Diagnosis, *, nothing_read: bool) -> ExitCode:
    if nothing_read:
        return ExitCode.USAGE
    return ExitCode.DONE if diagnosis.verdict == "no-evidence" else ExitCode.FINDINGS


def parse_facts(given: Iterable[str], known: Iterable[Fact]) -> Mapping[str, str]:
    """Return the facts given as NAME=VALUE; raises Failure for a name or a value that the catalogue does not have."""
    values = {fact.id: [v.value for v in fact.values] for fact in known}
    facts: dict[str, str] = {}
    for item in given:
        name, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not name or not value:
            raise Failure("error.fact-shape", given=item)
        if name not in values:
            raise Failure("error.fact-name", name=name, names=", ".join(values))
        if value == "unknown":
            facts.pop(name, None)
        elif value in values[name]:
            facts[name] = value
        else:
            raise Failure("error.fact-value", name=name, value=value, values=", ".join([*values[name], "unknown"]))
    return facts


def say_skipped(skipped: Iterable[Skipped], current: CommonSettings) -> None:
    """Note what could not be read, and why."""
    from distkb.report.skipped import sentence

    for item in skipped:
        note(sentence(item, current.say), current.say)
