"""`distkb check`: everything of a repository that is wrong before a run, for pipelines and hooks."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from distkb.cli import knowledge, output, probe
from distkb.cli.command import Command
from distkb.cli.diagnostics import ExitCode, Failure, note
from distkb.cli.session import CommonSettings, session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distkb.probing.allowed import Comment
    from distkb.probing.document import ProbeAnswer, Reported


@click.command(
    "check",
    cls=Command,
    help="help.check",
    examples=(
        "distkb check",
        "distkb check train.py scripts/ --format github",
        "distkb check --baseline .distkb-baseline.json --format sarif > distkb.sarif",
    ),
)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--baseline", metavar="FILE", type=click.Path(path_type=Path), help="option.baseline")
@click.option("--write-baseline", metavar="FILE", type=click.Path(path_type=Path), help="option.write-baseline")
@click.option("--exit-zero", is_flag=True, help="option.exit-zero")
@probe.format_options
@click.pass_context
def command(
    ctx: click.Context,
    *,
    paths: tuple[Path, ...],
    baseline: Path | None,
    write_baseline: Path | None,
    exit_zero: bool,
    form: str | None,
    as_json: bool,
) -> ExitCode:
    """Print what is wrong and not allowed; the exit code is 1 where anything is."""
    from distkb.probing import allowed
    from distkb.report import annotations

    current, root = session(ctx), Path.cwd()
    known = frozenset[str]()
    if baseline is not None:
        try:
            known = allowed.read_baseline(baseline)
        except allowed.UnreadableBaselineError:
            raise Failure("error.no-baseline", path=baseline) from None
    answer, comments = _read(paths or (Path(),), current)
    marks = annotations.fingerprints(answer.reported, root)
    held = _held(answer.reported, marks, comments, current)
    if write_baseline is not None:
        allowed.write_baseline(write_baseline, [mark for mark in marks if mark not in held])
        output.write(f"{write_baseline}\n")
        return ExitCode.DONE
    left = [r for r, mark in zip(answer.reported, marks, strict=True) if mark not in known and mark not in held]
    shown = _only(answer, left)
    if form == "sarif" and not as_json:
        kept = [r for r, mark in zip(answer.reported, marks, strict=True) if mark not in known]
        output.write(annotations.sarif(_only(answer, kept), current.say, root, held))
        code = ExitCode.FINDINGS if shown.status == "findings" else ExitCode.DONE
    else:
        code = probe.finish(shown, current, as_json=as_json, form=form)
    return ExitCode.DONE if exit_zero and code == ExitCode.FINDINGS else code


def _read(paths: Sequence[Path], current: CommonSettings) -> tuple[ProbeAnswer, list[Comment]]:
    from distkb.cli.diagnose import say_skipped
    from distkb.probing.allowed import comments_in
    from distkb.probing.document import RawDocument
    from distkb.probing.judge import answer
    from distkb.probing.repository import read_repository

    began = time.monotonic()
    catalogue = knowledge.open_knowledge(current).catalogue()
    repository = read_repository(paths, catalogue.settings, catalogue.refusals)
    say_skipped(repository.skipped, current)
    if not repository.files and len(repository.skipped) >= len(paths):
        raise Failure("error.nothing-read")
    elapsed = time.monotonic() - began
    raw = RawDocument(schema="distkb.probe-raw/1", probe="check", status="ok", elapsed_s=elapsed)
    facts = {"files": len(repository.files)}
    return answer(raw, catalogue.findings, more=repository.observations, facts=facts), comments_in(repository.files)


def _held(
    reported: Sequence[Reported], marks: Sequence[str], comments: Sequence[Comment], current: CommonSettings
) -> dict[str, str]:
    """Return the findings that comments allow, by their fingerprints, with the reasons; notes say what is amiss."""
    held: dict[str, str] = {}
    used: set[int] = set()
    for one, mark in zip(reported, marks, strict=True):
        for at, comment in enumerate(comments):
            if comment.allows(one):
                held[mark] = comment.reason
                used.add(at)
    for at, comment in enumerate(comments):
        if at not in used:
            key = "note.comment-unused" if comment.reason else "note.comment-without-reason"
            note(current.say(key, path=comment.path, line=comment.line, ids=", ".join(comment.ids)), current.say)
    return held


def _only(answer: ProbeAnswer, reported: Sequence[Reported]) -> ProbeAnswer:
    """Return the answer with these findings alone."""
    import msgspec

    wrong = any(one.finding.severity in ("error", "warning") for one in reported)
    return msgspec.structs.replace(answer, reported=tuple(reported), status="findings" if wrong else "ok")
