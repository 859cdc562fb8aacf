"""`distkb search WORDS...`: entries that answer words, an error message or a variable's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from distkb.cli import knowledge, output
from distkb.cli.command import Command
from distkb.cli.diagnostics import ExitCode, note
from distkb.cli.session import session
from distkb.report import tables

if TYPE_CHECKING:
    from distkb.catalogue.compiled import Compiled
    from distkb.search.query import Hit


@click.command(
    "search",
    cls=Command,
    help="help.search",
    examples=(
        "distkb search hang barrier",
        "distkb search '학습이 먹통이 됐어요'",
        "distkb search NCCL_TIMEOUT --json",
    ),
)
@click.argument("words", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="option.json")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=10, metavar="N", help="option.limit")
@click.pass_context
def command(ctx: click.Context, words: tuple[str, ...], as_json: bool, limit: int) -> ExitCode:
    """Print the entries that answer the words, best first."""
    from distkb.search.query import search

    current = session(ctx)
    query = " ".join(words)
    compiled = knowledge.open_knowledge(current)
    hits = search(knowledge.search_index(compiled), query, limit, current.say.lang)
    if as_json:
        _write_json(query, hits, compiled)
        return ExitCode.DONE
    titles = {row.id: row.title for row in compiled.titles()}
    rows = [(hit.id, titles[hit.id]) for hit in hits]
    output.write(tables.titles(rows, current.say, columns=output.columns(), ink=output.ink()))
    if not hits:
        note(current.say("search.nothing", query=query), current.say)
    elif output.is_terminal():
        note(current.say("search.read-one", id=hits[0].id), current.say)
    return ExitCode.DONE


def _write_json(query: str, hits: list[Hit], compiled: Compiled) -> None:
    from distkb.evidence.text.clean import mask
    from distkb.report.json import encode
    from distkb.report.layout import clean

    titles = {row.id: row.title for row in compiled.titles()}
    results = [{"id": hit.id, "score": hit.score, "title": titles[hit.id]} for hit in hits]
    output.write(encode({"query": mask(clean(query)), "results": results}))
