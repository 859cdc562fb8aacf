"""`distkb probe flight-recorder`: the screen, the document, and the exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import built_in
import pytest
from desyncs import CASES, Case, common, job, write
from recorder_dumps import entry

from distkb.evidence.readers.flight_recorder import find_flight_recorder, read_flight_recorder
from distkb.evidence.readers.flight_recorder.findings import LOOKED_FOR
from distkb.locale import LANGUAGES, Language, Say
from distkb.probing.document import ProbeAnswer, RawDocument
from distkb.probing.judge import answer
from distkb.report import flight_recorder
from distkb.report import probe as writer
from distkb.report.layout import width

FINDINGS = built_in.catalogue().findings
RAW = RawDocument(schema="distkb.probe-raw/1", probe="flight-recorder", status="ok")


def read(folder: Path, dumps: dict[int, dict[str, Any]]) -> ProbeAnswer:
    """Write the dumps and return the answer."""
    write(folder, dumps)
    reading = read_flight_recorder(find_flight_recorder([folder]))
    return answer(RAW, FINDINGS, more=reading.said(), facts=reading.facts)


def test_every_finding_has_a_record_with_sentences() -> None:
    """What the reader can say is in the catalogue, with a severity."""
    records = {finding.id: finding for finding in FINDINGS}
    assert all(records[name].says and records[name].severity for name in LOOKED_FOR)


ONE_MORE = [
    Case(
        "missing", job(lambda _: common(2, last="started"), ranks=(0, 1, 2)), "flight-recorder.rank-missing", "3", None
    ),
    Case("complete", job(lambda _: common(2)), "flight-recorder.all-complete", "0-3", None),
    Case(
        "peer",
        job(
            lambda rank: (
                [*common(1), entry("send 0->1", seq=1, record=1, p2p=True, state="started")] if rank == 0 else common(1)
            )
        ),
        "flight-recorder.p2p-unmatched",
        "1",
        None,
    ),
    Case(
        "windows",
        job(lambda rank: [entry("broadcast", seq=90 * (rank != 2) + s, record=s - 1) for s in (5, 6, 7)]),
        "flight-recorder.recorder-too-short",
        "2",
        None,
    ),
    Case("older", job(lambda rank: common(2 + (rank != 2))), "flight-recorder.dumps-not-at-once", "2", None),
]


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("case", [*CASES, *ONE_MORE], ids=lambda case: case.name)
def test_the_screen_has_all_values_in_80_columns(case: Case, lang: Language, tmp_path: Path) -> None:
    """No placeholder is left, no line is wider than the screen."""
    found = read(tmp_path, case.dumps)
    assert found.reported[0].finding.id == case.finding
    say = Say(lang)
    text = writer.write(found, say, columns=80, body=flight_recorder.write(found.facts, say, 80))
    assert "{" not in text
    assert all(width(line) <= 80 for line in text.splitlines()), text


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a user does."""
    return subprocess.run(
        [sys.executable, "-m", "distkb", "probe", "flight-recorder", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_document_and_the_exit_code(tmp_path: Path) -> None:
    """A finding exits with 1 and stands in the document with its evidence."""
    behind = next(case for case in CASES if case.name == "behind")
    write(tmp_path, behind.dumps)
    done = run(str(tmp_path), "--json")
    document = json.loads(done.stdout)
    assert done.returncode == 1
    assert (document["schema"], document["status"]) == ("distkb.probe/1", "findings")
    first = document["findings"][0]
    assert (first["id"], first["entry"]) == ("flight-recorder.rank-behind", "D20")
    assert first["evidence"][1] == {
        "text": "all_reduce #3 [4, 3] Float, started",
        "path": "/app/train.py",
        "line": 142,
        "rank": 0,
    }
    assert document["facts"]["groups"][0]["rows"][0]["ranks"] == "3"


def test_nothing_wrong_exits_with_0(tmp_path: Path) -> None:
    """A note alone is no failure."""
    write(tmp_path, job(lambda _: common(3)))
    assert run(str(tmp_path)).returncode == 0


def test_nothing_to_read_is_one_line_and_exit_2(tmp_path: Path) -> None:
    """A folder without dumps, a missing path and a foreign file are refused in a sentence."""
    (tmp_path / "notes.txt").write_text("hello")
    for path in (tmp_path, tmp_path / "nowhere", tmp_path / "notes.txt"):
        done = run(str(path))
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        assert "nccl_trace_rank_0" in done.stderr
