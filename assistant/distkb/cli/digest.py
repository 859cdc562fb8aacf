"""`distkb digest PATH...`: everything about a run that decides, short enough for a language model to read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from distkb.cli import knowledge, output
from distkb.cli.command import Command
from distkb.cli.diagnostics import ExitCode, Failure, error
from distkb.cli.session import CommonSettings, session
from distkb.report.digest.model import HANDLES

if TYPE_CHECKING:
    from distkb.report.digest.model import Digest, Name

LEAST, MOST = 500, 100_000
"""Tokens that a digest may be asked to cost."""


@click.command(
    "digest",
    cls=Command,
    help="help.digest",
    examples=(
        "distkb digest logs/ train.py",
        "distkb digest logs/ --more roll-call",
        "distkb digest logs/ --rank 613",
        "distkb digest logs/ --around rank_3.log:120",
    ),
)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--more", type=click.Choice(HANDLES), metavar="SECTION", help="option.digest-more")
@click.option("--rank", type=click.IntRange(min=0), metavar="N", help="option.digest-rank")
@click.option("--around", metavar="FILE:LINE", help="option.digest-around")
@click.option("--tokens", type=click.IntRange(LEAST, MOST), default=3000, metavar="N", help="option.digest-tokens")
@click.option("--json", "as_json", is_flag=True, help="option.json")
@click.pass_context
def command(
    ctx: click.Context,
    paths: tuple[Path, ...],
    more: Name | None,
    rank: int | None,
    around: str | None,
    tokens: int,
    as_json: bool,
) -> ExitCode:
    """Print what decides."""
    current = session(ctx)
    if sum(given is not None for given in (more, rank, around)) > 1:
        raise Failure("error.digest-one")
    if around is not None:
        made, code = _around(paths, around, tokens, current), ExitCode.DONE
    else:
        made, code = _of_run(paths, more, rank, tokens, current)
    if as_json:
        from distkb.report.digest import json

        output.write(json.write(made))
    else:
        from distkb.report.digest import text

        output.write(text.write(made, current.say))
    return code


def _of_run(
    paths: tuple[Path, ...], more: Name | None, rank: int | None, tokens: int, current: CommonSettings
) -> tuple[Digest, ExitCode]:
    from distkb.cli.diagnose import say_skipped
    from distkb.evidence.run.closeup import Wish
    from distkb.report.digest.build import digest
    from distkb.report.meaning import Meanings

    known = knowledge.Knowledge(knowledge.open_knowledge(current))
    diagnosis = known.diagnose("", paths, {}, wish=Wish(rank=rank))
    say_skipped(diagnosis.evidence.skipped, current)
    if rank is not None and all(one.rank != rank for one in diagnosis.evidence.ranks):
        raise Failure("error.digest-rank", rank=rank, n=len(diagnosis.evidence.ranks))
    made = digest(diagnosis, Meanings(known.catalogue), current.say, budget=tokens, more=more, rank=rank)
    if not diagnosis.evidence.bytes_read:
        error(current.say("error.nothing-read"), current.say)
        return made, ExitCode.USAGE
    return made, ExitCode.DONE if diagnosis.verdict == "no-evidence" else ExitCode.FINDINGS


def _around(paths: tuple[Path, ...], place: str, tokens: int, current: CommonSettings) -> Digest:
    from distkb.evidence.text.around import find, lines_around
    from distkb.evidence.text.opening import UnreadableError
    from distkb.report.digest.build import around

    name, colon, number = place.rpartition(":")
    if not colon or not name or not number.isdecimal() or not int(number):
        raise Failure("error.digest-place", given=place)
    file = find(name, paths)
    if file is None:
        raise Failure("error.digest-file", path=name)
    try:
        passage = lines_around(file, int(number))
    except UnreadableError as wrong:
        raise Failure(
            "note.skipped", path=file, reason=current.say(f"skip.{wrong.code}", detail=wrong.detail)
        ) from None
    if not passage.rows:
        raise Failure("error.digest-line", path=file, line=number)
    return around(passage, int(number), name, current.say, budget=tokens)
