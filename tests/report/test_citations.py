"""How places of the evidence are named in the text."""

from __future__ import annotations

import msgspec
import pytest
from report_samples import CATALOGUE, STEP, TIMEOUT, diagnosis

from distkb.diagnosis.model import NextStep
from distkb.evidence.observation import Evidence, Observation, Quote
from distkb.locale import Language, Say
from distkb.report import markdown, text
from distkb.report.citations import Citations, readable, unmarked
from distkb.report.meaning import Meanings

RUN = "/data/runs/2026-11-21/ranks/ce218453-f436-431c-bc78-bf8164d9dacb_lkiac11w/attempt_0"
CPP = "[/__w/pytorch/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:78]"
OWN = Quote(
    text=f"[rank1]: RuntimeError: {CPP} Timed out waiting 5000ms", path=f"{RUN}/1/stderr.log", line=18, rank=1, time=9.0
)
TWIN = Quote(
    text=f"[default1]:[rank1]: RuntimeError: {CPP} Timed out waiting 5000ms",
    path="/data/runs/2026-11-21/console.log",
    line=22,
    rank=1,
    time=9.0,
)
PART = msgspec.structs.replace(
    TWIN, text="…__w/pytorch/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:78] Timed out"
)


def evidence(*quotes: Quote) -> Evidence:
    """Return an evidence that quotes these lines."""
    return Evidence(observations=(Observation(id="gloo.timeout", source="log", quotes=quotes),), notes=quotes)


def page(lang: Language = "en", columns: int = 80) -> str:
    """Return the text of a diagnosis in which two files hold the same line."""
    seen = msgspec.structs.replace(TIMEOUT, quotes=(PART, OWN), count=4)
    found = diagnosis("leading", 0.5, observation=seen)
    found = msgspec.structs.replace(
        found, evidence=msgspec.structs.replace(evidence(TWIN, OWN, PART), observations=(seen,), notes=(OWN, TWIN))
    )
    return text.write(found, Meanings(CATALOGUE), Say(lang), columns=columns)


def test_places_are_named_from_the_folder_they_share() -> None:
    """The common folder is stated once and each place is the rest of its path, whole."""
    shown = page()
    assert shown.count("/data/runs/2026-11-21") == 1
    assert "Paths are relative to /data/runs/2026-11-21\n" in shown
    short = OWN.path.removeprefix("/data/runs/2026-11-21/") if OWN.path else ""
    assert f"{short}:18 (rank 1)\n" in shown
    assert "기준 폴더: /data/runs/2026-11-21\n" in page("ko")


@pytest.mark.parametrize("columns", [40, 80])
def test_a_path_is_never_broken(columns: int) -> None:
    """However narrow the page, a place stands on one line."""
    assert any(
        line.strip().startswith("ranks/") and "stderr.log:18" in line for line in page("ko", columns).splitlines()
    )


def test_short_and_unrelated_folders_are_left_as_they_are() -> None:
    """A folder is only stated where that saves something, and absolute and relative paths are not mixed."""
    assert Citations(evidence(Quote(text="x", path="logs/a.log"), Quote(text="y", path="logs/b.log"))).base == ""
    mixed = evidence(Quote(text="x", path="/data/very/long/folder/a.log"), Quote(text="y", path="b.log"))
    assert Citations(mixed).place(mixed.notes[0]) == "/data/very/long/folder/a.log"
    assert Citations(Evidence()).base == ""


def test_a_line_in_two_files_is_quoted_once() -> None:
    """The rank's own file is shown, the console named beside it, and neither counts as one more time."""
    shown = page()
    assert shown.count("| [rank1]: RuntimeError: […/unbound_buffer.cc:78] Timed out") == 1
    assert "also in console.log:22" in shown
    assert "and 2 more times" in shown


def test_the_better_half_of_a_line_is_shown() -> None:
    """A quote cut in the middle of a line gives way to one of the same line with its beginning."""
    citations = Citations(evidence(PART, TWIN, OWN))
    assert citations.best(PART).text == OWN.text
    assert citations.key(PART) == citations.key(TWIN) == citations.key(OWN)


def test_repeated_lines_are_not_taken_for_one() -> None:
    """Where a file holds a line twice, nothing tells which one another file repeats."""
    again = msgspec.structs.replace(OWN, line=40)
    citations = Citations(evidence(OWN, again, TWIN))
    assert citations.also(TWIN) == []
    other = msgspec.structs.replace(TWIN, rank=0)
    assert Citations(evidence(OWN, other)).also(OWN) == []


def test_source_folders_of_a_build_machine_are_left_out() -> None:
    """Of the place of a C++ source only file and line mean something; other paths stay whole."""
    assert readable(f"RuntimeError: {CPP} Timed out") == "RuntimeError: […/unbound_buffer.cc:78] Timed out"
    assert readable(PART.text) == "[…/unbound_buffer.cc:78] Timed out"
    assert readable('File "/home/a/b.py", line 3') == 'File "/home/a/b.py", line 3'
    assert unmarked("[default1]:[rank1]: x") == "x"


def test_a_frame_is_printed_as_python_prints_it() -> None:
    """File and line stand on one line, the code on the next."""
    frame = Quote(
        text=f'File "/home/user/{"x" * 60}/train.py", line 53, in train  dist.barrier()', path="a.log", line=3
    )
    seen = msgspec.structs.replace(TIMEOUT, quotes=(frame,), count=1)
    found = diagnosis("leading", 0.5, observation=seen)
    lines = text.write(found, Meanings(CATALOGUE), Say("en")).splitlines()
    at = next(n for n, line in enumerate(lines) if 'train.py", line 53, in train' in line)
    assert lines[at + 1].endswith("|   dist.barrier()")


def test_a_question_stands_beside_something_to_collect() -> None:
    """Who cannot answer the question at once is told what else would help."""
    ask = msgspec.structs.replace(STEP, id="ask.x", kind="ask", commands=())
    found = msgspec.structs.replace(diagnosis("leading", 0.5), next=NextStep(kind="ask", step=ask, gain_bits=0.5))
    beside = msgspec.structs.replace(found, collect=STEP)
    meanings, say = Meanings(CATALOGUE), Say("en")
    for shown in (
        text.write(beside, meanings, say),
        markdown.write(beside, meanings, say),
    ):
        assert shown.index("Next: a question") < shown.index("Or collect this") < shown.index("py-spy dump")
    assert "Or collect" not in text.write(found, meanings, say)


def test_a_named_cause_says_plainly_what_to_do_next() -> None:
    """The last words of a named cause are to apply its fix."""
    assert "Apply D21.a.1 above and run again." in text.write(diagnosis("named"), Meanings(CATALOGUE), Say("en"))
