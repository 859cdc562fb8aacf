"""Secrets planted in everything that is read: none of them is in anything that is written."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec
import pytest

from distkb import intake
from distkb.catalogue.places import cache_directory
from distkb.diagnosis.batch import diagnose
from distkb.diagnosis.guide import Guide
from distkb.diagnosis.session import EvidenceAdded, Session
from distkb.diagnosis.view import view
from distkb.evidence.run.closeup import Wish
from distkb.evidence.text.around import lines_around
from distkb.knowledge import open_knowledge
from distkb.locale import LANGUAGES, Say
from distkb.probing.collect import Collected, save
from distkb.probing.document import RawDocument
from distkb.report import json, markdown, text
from distkb.report.digest import json as digest_json
from distkb.report.digest import text as digest_text
from distkb.report.digest.build import around, digest
from distkb.report.digest.model import HANDLES
from distkb.report.meaning import Meanings
from distkb.search.index import load
from distkb.sessions import export, store
from distkb.watching.bundle import Bundle

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from secret_strings import positive, shows

RANKS = 100
"""Ranks of one run: each fails with an error that holds a secret."""
PLANTED = list(enumerate(positive()))[::3]
RUNS = [PLANTED[at : at + RANKS] for at in range(0, len(PLANTED), RANKS)]
THREAD = 'Thread 1 (active): "MainThread"\n    f (a.py:1)\n'
ERROR = """\
[rank{rank}]: starting with {text} t{tag}a
[rank{rank}]: Traceback (most recent call last):
[rank{rank}]:   File "{script}", line {line}, in main
[rank{rank}]:     login({text!r}) # t{tag}b
[rank{rank}]: RuntimeError: t{tag}c cannot log in: {text}
"""


@cache
def _known():  # type: ignore[no-untyped-def]
    compiled = open_knowledge()
    catalogue = compiled.catalogue()
    return catalogue, Guide(catalogue), load(compiled.search_index()), Meanings(catalogue)


def _plant(folder: Path, run: list[tuple[int, tuple[str, str]]]) -> str:
    """Write a run with a secret for each rank, in its log, its script, its settings and its stacks; return a report."""
    script = folder / "train.py"
    rows = ["import torch.distributed as dist", "def main():"]
    settings, stacks, told, key = [], [], ["It crashes when it logs in."], []
    for rank, (number, (planted, _)) in enumerate(run):
        rows.append(f"    login({planted!r})  # t{number}d")
        filled = {"rank": rank, "text": planted, "tag": number, "script": script, "line": len(rows)}
        (folder / f"rank{rank}.log").write_text(ERROR.format(**filled), encoding="utf-8")
        settings.append(f"export T{number}E='{planted}'")
        stacks.append(f"Process {rank}: python t{number}f {planted}\n{THREAD}")
        told.append(f"RuntimeError t{number}g {planted}")
        key.append(planted)
    script.write_text("\n".join(rows) + "\n", encoding="utf-8")
    (folder / "job.sbatch").write_text("#!/bin/bash\n" + "\n".join(settings) + "\nsrun python train.py\n", "utf-8")
    (folder / "stacks.txt").write_text("\n".join(stacks), encoding="utf-8")
    (folder / "ds_config.json").write_bytes(msgspec.json.encode({"train_batch_size": "x", "tags": key}))
    return "\n".join(told)


def _written(folder: Path, report: str, out: Path) -> Iterator[tuple[str, str]]:
    """Yield everything that is written of a run, and how it is written."""
    catalogue, guide, index, meanings = _known()
    cache_dir = cache_directory()
    seen = {}
    for rank in (None, *range(RANKS)):
        if rank is None or (folder / f"rank{rank}.log").exists():
            words = report if rank is None else None
            wish = Wish(rank=rank)
            evidence = intake.read(
                catalogue, [folder], report=words, index=lambda: index, cache_dir=cache_dir, wish=wish
            )
            seen[rank] = diagnose(guide, evidence)
            if rank == 2:
                break
    found = seen[None]
    for language in LANGUAGES:
        say = Say(language)
        yield "text", text.write(found, meanings, say)
        yield "markdown", markdown.write(found, meanings, say)
        for more in (None, *HANDLES):
            made = digest(found, meanings, say, budget=100_000, more=more)
            yield f"digest {more}", digest_text.write(made, say) + digest_json.write(made)
        for rank, of_rank in seen.items():
            if rank is not None:
                yield "digest rank", digest_text.write(digest(of_rank, meanings, say, budget=100_000, rank=rank), say)
        for log in [*folder.glob("rank*.log"), folder / "train.py", folder / "job.sbatch"]:
            passage = lines_around(log, 2)
            yield "digest around", digest_text.write(around(passage, 2, log.name, say, budget=100_000), say)
    yield "json", json.write(found, meanings)
    session = Session(id="x", title=report[:400], events=(EvidenceAdded(label=report[:400], evidence=found.evidence),))
    yield "session", store.save(session, out).read_text(encoding="utf-8")
    shown = view(session, guide)
    yield "export", export.json(session, shown)
    for language in LANGUAGES:
        yield "export", export.markdown(session, shown, guide, Say(language))
        yield "export", export.upstream(session, shown, guide, Say(language))
    bundle = Bundle(out, "job")
    bundle.logs([path for path in folder.iterdir() if path.is_file()])
    bundle.document("environment.json", {"env": dict(enumerate(map(str, report.splitlines())))})
    raw = RawDocument(schema="distkb.probe-raw/1", probe="stacks", status="ok")
    frames = [{"name": line, "filename": line, "line": 1} for line in report.splitlines()]
    dumps = ({"rank": 0, "pid": 1, "frames": frames},)
    taken = Collected(documents=dumps, taken=(), unread=(), recorders=(), raw=raw, seconds=1.0)
    save(bundle.path / "stacks", taken)
    for path in bundle.path.rglob("*"):
        if path.is_file():
            yield f"bundle {path.name}", path.read_text(encoding="utf-8")


@pytest.mark.parametrize("number", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, len(RUNS)))])
def test_no_secret_is_in_anything_that_is_written(number: int, tmp_path: Path) -> None:
    """Each secret's line reaches several outputs, each in all of its forms, and the secret reaches none."""
    folder = tmp_path / "run"
    folder.mkdir()
    report = _plant(folder, RUNS[number])
    written = [(how, re.sub(r"\s+", " ", shown), shown) for how, shown in _written(folder, report, tmp_path / "out")]
    leaked = [
        (how, tag, planted)
        for how, joined, shown in written
        for tag, (planted, secret) in RUNS[number]
        if shows(joined, secret) or shows(shown, secret)
    ]
    assert leaked == []
    everything = "".join(shown for how, _, shown in written if not how.startswith("bundle"))
    reached = {tag for tag, _ in RUNS[number] if re.search(rf"t{tag}[a-g]", everything)}
    assert len(reached) > 0.9 * len(RUNS[number])
    kept = "".join(shown for how, _, shown in written if how.startswith("bundle"))
    assert all(re.search(rf"t{tag}[a-g]", kept) for tag, _ in RUNS[number])


@pytest.mark.parametrize(
    "words",
    [("search", "--json"), ("show",), ("probe",), ("repro", "run"), ("probe", "script"), ("diagnose", "--fact"), ()],
    ids=" ".join,
)
def test_what_was_typed_is_not_repeated_with_a_secret(words: tuple[str, ...]) -> None:
    """Neither an error nor an answer shows a secret that was pasted into the command line."""
    secret = "hf_AbCdEfGhIjKlMnOpQrStUvWxYz12345678"  # noqa: S105 - nobody's
    command = [sys.executable, "-m", "distkb", *words, secret]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.stdout + done.stderr
    assert secret not in done.stdout + done.stderr
