"""`distkb eval search FILE`: how often the right entry is found on graded queries."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from distkb.cli import knowledge, output
from distkb.cli.command import Command
from distkb.cli.diagnostics import ExitCode, Failure
from distkb.cli.session import session
from distkb.report import tables


@click.command("search", cls=Command, help="help.eval.search")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="option.json")
@click.pass_context
def command(ctx: click.Context, file: Path, as_json: bool) -> ExitCode:
    """Print the figures."""
    from distkb.search.evaluate import evaluate, read_cases

    current = session(ctx)
    try:
        cases = read_cases(file.read_text(encoding="utf-8"))
    except OSError as problem:
        raise Failure("error.case-file-missing", path=file, reason=problem.strerror) from problem
    except ValueError as problem:
        raise Failure("error.case-file", message=f"{file}: {problem}") from problem
    result = evaluate(knowledge.search_index(knowledge.open_knowledge(current)), cases)
    return write_figures(result, file, as_json=as_json)


def write_figures(result: Mapping[str, Any], file: Path, *, as_json: bool) -> ExitCode:
    """Print what an evaluation on a file of cases came to; Failure where the file holds none."""
    if not result["cases"]:
        raise Failure("error.no-cases", path=file)
    if as_json:
        from distkb.report.json import encode

        output.write(encode(result))
    else:
        output.write(tables.figures(result["figures"], columns=output.columns()))
    return ExitCode.DONE
