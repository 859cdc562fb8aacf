"""`distkb probe stacks`: where does every rank stand, and which one stands elsewhere?"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from distkb.cli import knowledge, output, probe
from distkb.cli.command import Command
from distkb.cli.diagnostics import ExitCode, Failure, note
from distkb.cli.session import Session, session

if TYPE_CHECKING:
    from distkb.evidence.readers.stacks.model import Dump
    from distkb.probing.document import ProbeAnswer, RawDocument
    from distkb.probing.interpreter import Interpreter

DEADLINE_S = 60.0


@click.command(
    "stacks",
    cls=Command,
    help="help.probe.stacks",
    examples=(
        "distkb probe stacks",
        "distkb probe stacks --pid 4242 --save stacks/",
        "distkb probe stacks stacks/ node2.txt",
    ),
)
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--pid", "pids", type=click.IntRange(min=1), multiple=True, metavar="PID", help="option.stacks-pid")
@click.option("--save", metavar="DIR", type=click.Path(path_type=Path, file_okay=False), help="option.save")
@probe.probe_options(DEADLINE_S)
@click.pass_context
def command(
    ctx: click.Context,
    *,
    paths: tuple[Path, ...],
    pids: tuple[int, ...],
    save: Path | None,
    python: Path | None,
    deadline: float,
    as_json: bool,
) -> ExitCode:
    """Print where the ranks of a live job stand, or those in the dumps given; with both, all of them together."""
    from distkb.evidence.observation import absent
    from distkb.evidence.readers.stacks.judge import judge
    from distkb.probing.judge import answer

    current = session(ctx)
    known = knowledge.Knowledge(knowledge.open_knowledge(current))
    dumps = _read(paths, current) if paths else []
    chosen: Interpreter | None = None
    raw = _nothing_run()
    if pids or not paths:
        chosen = probe.interpreter(python)
        request: dict[str, Any] = {"pids": list(pids), "tools": [str(Path(sys.executable).parent / "py-spy")]}
        raw = probe.run("stacks", request, chosen, current, deadline_s=deadline, quiet=as_json)
        saved = raw.facts.get("dumps")
        documents = saved if isinstance(saved, list) else []
        if save is not None and documents:
            _save(save, documents, current)
        dumps += _live(documents)
    judged = judge(dumps)
    facts = {name: value for name, value in raw.facts.items() if name != "dumps"}
    found = answer(
        raw,
        known.catalogue.findings,
        more=(*judged.observations, *absent(judged.clear)),
        facts={**facts, "stacks": judged.facts} if dumps else facts,
        interpreter=chosen,
    )
    return probe.finish(found, current, as_json=as_json, body="" if as_json else _body(found, current))


def _nothing_run() -> RawDocument:
    from distkb.probing.document import RawDocument

    return RawDocument(schema="distkb.probe-raw/1", probe="stacks", status="ok")


def _read(paths: tuple[Path, ...], current: Session) -> list[Dump]:
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


def _live(documents: Sequence[object]) -> list[Dump]:
    from distkb.evidence.readers.stacks.documents import from_saved

    dumps = []
    for document in documents:
        pid = document.get("pid") if isinstance(document, dict) else None
        dump = from_saved(document, f"/proc/{pid}")
        if dump is not None:
            dumps.append(dump)
    return dumps


def _save(directory: Path, documents: Sequence[object], current: Session) -> None:
    """Write one file a rank, readable by this user only: `rank3-node1-4242.json`."""
    import msgspec

    directory.mkdir(parents=True, exist_ok=True)
    written = 0
    for document in documents:
        if not isinstance(document, dict):
            continue
        host = re.sub(r"[^\w.-]", "_", str(document.get("host") or "host"))[:80]
        rank, pid = document.get("rank"), document.get("pid")
        name = f"pid{pid}-{host}.json" if rank is None else f"rank{rank}-{host}-{pid}.json"
        path = directory / name
        path.touch(mode=0o600)
        path.write_bytes(msgspec.json.encode(document) + b"\n")
        written += 1
    note(current.say("probe.stacks.saved", n=written, path=str(directory)), current.say)


def _body(found: ProbeAnswer, current: Session) -> str:
    if "stacks" not in found.facts:
        return ""
    from distkb.report import stacks

    return stacks.write(found.facts["stacks"], current.say, columns=output.columns(), ink=output.ink())
