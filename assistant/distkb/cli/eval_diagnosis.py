"""`distkb eval diagnosis FILE`: how often the right entry comes first on labelled cases."""

from __future__ import annotations

from pathlib import Path

import click

from distkb.cli import knowledge
from distkb.cli.command import Command
from distkb.cli.diagnostics import ExitCode, Failure
from distkb.cli.eval_search import write_figures
from distkb.cli.session import session


@click.command("diagnosis", cls=Command, help="help.eval.diagnosis")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--no-facts", is_flag=True, help="option.no-facts")
@click.option("--json", "as_json", is_flag=True, help="option.json")
@click.pass_context
def command(ctx: click.Context, file: Path, no_facts: bool, as_json: bool) -> ExitCode:
    """Print the figures."""
    from distkb.baseline import Bm25
    from distkb.evaluation import CaseFileError, evaluate, read_cases

    current = session(ctx)
    try:
        cases = read_cases(file)
    except CaseFileError as problem:
        raise Failure("error.case-file", message=str(problem)) from problem
    except OSError as problem:
        raise Failure("error.case-file-missing", path=file, reason=problem.strerror) from problem
    known = knowledge.Knowledge(knowledge.open_knowledge(current))
    entries = known.catalogue.entries
    baseline = Bm25(entries).rank
    ids = [entry.id for entry in entries]
    result = evaluate(cases, ids, known.diagnose, facts=not no_facts, baseline=baseline)
    return write_figures(result, file, as_json=as_json)
