"""`distkb probe stacks`: where does every rank stand, and which one stands elsewhere?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from distkb.cli import knowledge, output, probe
from distkb.cli.command import Command
from distkb.cli.diagnostics import ExitCode, Failure, note
from distkb.cli.session import CommonSettings, session

if TYPE_CHECKING:
    from distkb.evidence.readers.stacks.model import Dump
    from distkb.probing.collect import Collected, Where
    from distkb.probing.document import ProbeAnswer, RawDocument
    from distkb.probing.interpreter import Interpreter


@click.command(
    "stacks",
    cls=Command,
    help="help.probe.stacks",
    examples=(
        "distkb probe stacks",
        "distkb probe stacks --pid 4242 --save stacks/",
        "distkb probe stacks --job 123",
        "distkb probe stacks --pods team/my-pytorchjob",
        "distkb probe stacks stacks/ node2.txt",
    ),
)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--pid", "pids", type=click.IntRange(min=1), multiple=True, metavar="PID", help="option.stacks-pid")
@click.option("--job", metavar="ID", help="option.stacks-job")
@click.option("--pods", metavar="[NAMESPACE/]NAME", help="option.stacks-pods")
@click.option(
    "--hostfile", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), help="option.stacks-hostfile"
)
@click.option("--save", metavar="DIR", type=click.Path(path_type=Path, file_okay=False), help="option.save")
@probe.probe_options("stacks")
@click.pass_context
def command(
    ctx: click.Context,
    *,
    paths: tuple[Path, ...],
    pids: tuple[int, ...],
    job: str | None,
    pods: str | None,
    hostfile: Path | None,
    save: Path | None,
    python: Path | None,
    deadline: float,
    as_json: bool,
) -> ExitCode:
    """Print where the ranks of a live job stand, or those in the dumps given; with both, all of them together."""
    import msgspec

    from distkb.evidence.observation import absent
    from distkb.evidence.readers.stacks.judge import judge
    from distkb.probing.collect import Where, collect
    from distkb.probing.judge import answer

    current = session(ctx)
    known = knowledge.Knowledge(knowledge.open_knowledge(current))
    dumps = _read(paths, current) if paths else []
    where = _where(pids, job, pods, hostfile)
    chosen: Interpreter | None = None
    raw = _nothing_run()
    if where is not None or not paths:
        chosen = probe.interpreter(python)
        listener = probe.announce("stacks", chosen, current, quiet=as_json)
        wanted = where or Where()
        taken = collect(wanted, chosen.path, recorders=save is not None, deadline_s=deadline, listener=listener)
        raw = taken.raw
        if save is not None and taken.documents:
            _save(save, taken, current)
        dumps += taken.dumps()
    judged = judge(dumps)
    facts = {name: value for name, value in raw.facts.items() if name not in ("dumps", "recorders")}
    found = answer(
        raw,
        known.catalogue.findings,
        more=(*judged.observations, *absent(judged.clear)),
        facts={**facts, "stacks": judged.facts} if dumps else facts,
        interpreter=chosen,
    )
    if not dumps and raw.status != "ok":
        # What could not be read is told, and is no finding where nothing else was read.
        found = msgspec.structs.replace(found, status=raw.status)
    return probe.finish(found, current, as_json=as_json, body="" if as_json else _body(found, current))


def _nothing_run() -> RawDocument:
    from distkb.probing.document import RawDocument

    return RawDocument(schema="distkb.probe-raw/1", probe="stacks", status="ok")


def _read(paths: tuple[Path, ...], current: CommonSettings) -> list[Dump]:
    """Read the dumps under the paths; Failure where there are none at all."""
    from distkb.cli.diagnose import say_skipped
    from distkb.evidence.observation import Skipped
    from distkb.evidence.readers.stacks import find_stacks, read_dumps

    found = find_stacks(paths)
    named = [path for path in paths if not path.is_dir() and path not in found]
    dumps, skipped, _ = read_dumps([*found, *named])
    empty = [Skipped(path=str(path), code="no-stacks") for path in paths if path.is_dir() and not _below(path, found)]
    say_skipped((*skipped, *empty), current)
    if not dumps:
        raise Failure("error.nothing-read")
    return dumps


def _below(directory: Path, found: Sequence[Path]) -> bool:
    return any(directory in path.parents for path in found)


def _where(pids: tuple[int, ...], job: str | None, pods: str | None, hostfile: Path | None) -> Where | None:
    """Return which job was named; None where none was. Raises Failure for several, and for what names nothing."""
    from distkb.probing.collect import Where

    ways = (("--pid", pids), ("--job", job), ("--pods", pods), ("--hostfile", hostfile))
    given = [name for name, value in ways if value]
    if len(given) > 1:
        raise Failure("error.stacks-one-job", one=given[0], other=given[1])
    if job is not None and re.fullmatch(r"\d{1,10}(_\d{1,10})?(\.\w{1,20})?", job) is None:
        raise Failure("error.stacks-job-id", given=job)
    if pods is not None and re.fullmatch(r"([a-z0-9-]{1,63}/)?[a-z0-9][a-z0-9.-]{0,252}", pods) is None:
        raise Failure("error.stacks-pods", given=pods)
    hosts = () if hostfile is None else _hosts(hostfile)
    return Where(pids=pids, job=job or "", pods=pods or "", hosts=hosts) if given else None


def _hosts(path: Path) -> tuple[str, ...]:
    """Return the hosts of a hostfile: the first word of every line, as MPI and DeepSpeed write them."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as problem:
        raise Failure("error.os", path=str(path), reason=problem.strerror or "") from None
    words = [line.partition("#")[0].split() for line in lines[:65536]]
    hosts = tuple(dict.fromkeys(row[0] for row in words if row))
    bad = next((host for host in hosts if re.fullmatch(r"[A-Za-z0-9][\w.@-]{0,252}", host) is None), None)
    if bad is not None or not hosts:
        raise Failure("error.stacks-hostfile", path=str(path), given=bad or "-")
    return hosts


def _save(directory: Path, taken: Collected, current: CommonSettings) -> None:
    from distkb.probing.collect import save

    save(directory, taken)
    note(current.say("probe.stacks.saved", n=len(taken.documents), path=str(directory)), current.say)
    if taken.recorders:
        note(current.say("probe.stacks.recorders", n=len(taken.recorders), path=str(directory)), current.say)


def _body(found: ProbeAnswer, current: CommonSettings) -> str:
    from distkb.report import stacks

    columns, ink = output.columns(), output.ink()
    standing = stacks.write(found.facts.get("stacks") or {}, current.say, columns=columns, ink=ink)
    ways = stacks.write_ways(found.facts, current.say, columns=columns, ink=ink)
    return "\n".join(text for text in (standing, ways) if text)
