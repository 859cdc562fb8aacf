"""`distkb diagnose`: exit codes, odd input, formats, and log text that must never be interpreted."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from cli_calls import invoke

CRASH = """\
[rank1]: Traceback (most recent call last):
[rank1]:   File "/home/me/train.py", line 40, in <module>
[rank1]:     main()
[rank1]: RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one. \
This error indicates that your module has parameters that were not used in producing loss.
"""
HEALTHY = "2026-11-21 10:00:00 [rank0] INFO step 1 loss 0.51\n2026-11-21 10:00:01 [rank0] INFO step 2 loss 0.42\n"
ESCAPES = "\x1b[31m\x1b]0;owned\x07\x1b]8;;http://evil\x1b\\ \u202e[red]boo[/red]\x9b2J"


@pytest.fixture
def crash(tmp_path: Path) -> Path:
    """A folder with the log of a run that died of unused parameters."""
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "rank1.log").write_text(CRASH)
    return folder


def test_a_known_failure_is_found_with_its_line(crash: Path) -> None:
    """The exit code is 1, the cause comes first, and the line that shows it is quoted with its place."""
    result = invoke("diagnose", str(crash))
    assert result.exit_code == 1
    assert "D8" in result.stdout.splitlines()[0]
    assert f"Paths are relative to {crash}\n" in result.stdout
    assert "\n      rank1.log:4 (rank 1)\n" in result.stdout


def test_both_languages_say_the_same(crash: Path) -> None:
    """The Korean answer names the same cause, figures and places."""
    english = invoke("diagnose", str(crash)).stdout
    korean = invoke("diagnose", str(crash), "--lang", "ko").stdout
    assert "원인" in korean or "가능성" in korean
    places = re.findall(r"rank1\.log:\d+", english)
    assert places
    assert all(place in korean for place in places)


def test_json_is_one_document_and_the_same_in_both_languages(crash: Path) -> None:
    """`--json` prints the contract's document whatever language is spoken."""
    english, korean = invoke("diagnose", str(crash), "--json"), invoke("diagnose", str(crash), "--json", "--lang", "ko")
    assert english.stdout == korean.stdout
    document = json.loads(english.stdout)
    assert document["schema"] == "distkb.diagnosis/1"
    assert document["causes"][0]["entry"] == "D8"
    assert abs(sum(c["probability"] for c in document["causes"]) + document["other"] - 1) < 1e-3


def test_markdown_is_printed_on_request(crash: Path) -> None:
    """`--markdown` begins with a heading that is the verdict."""
    assert invoke("diagnose", str(crash), "--markdown").stdout.startswith("## ")


def test_healthy_logs_exit_with_0(tmp_path: Path) -> None:
    """Readable logs that hold no failure are no finding."""
    log = tmp_path / "train.log"
    log.write_text(HEALTHY)
    result = invoke("diagnose", str(log))
    assert result.exit_code == 0
    assert result.stdout.startswith("Nothing wrong found")


def test_a_report_and_facts_are_enough() -> None:
    """Words from stdin and facts need no logs."""
    result = invoke(
        "diagnose", "--report", "-", "--fact", "symptom=hang", stdin="it hangs at dist.barrier under if rank == 0"
    )
    assert result.exit_code == 1
    assert "D21" in result.stdout


def test_unknown_is_a_value_of_every_fact() -> None:
    """A fact that the user does not know is accepted and changes nothing."""
    result = invoke("diagnose", "--fact", "symptom=hang", "--fact", "nodes=unknown", "--json")
    assert result.exit_code in {0, 1}
    assert json.loads(result.stdout)["schema"] == "distkb.diagnosis/1"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_noted(crash: Path) -> None:
    """What may not be read is one note, and the rest is still diagnosed."""
    locked = crash / "rank2.log"
    locked.write_text(HEALTHY)
    locked.chmod(0)
    result = invoke("diagnose", str(crash))
    assert result.exit_code == 1
    assert "no permission" in result.stderr


def test_what_cannot_be_read_is_noted_and_the_rest_diagnosed(crash: Path, tmp_path: Path) -> None:
    """Missing, binary, empty and damaged inputs are one line each; the readable log still names the cause."""
    (tmp_path / "core").write_bytes(bytes(range(256)) * 64)
    (tmp_path / "empty.log").touch()
    (tmp_path / "no-logs").mkdir()
    whole = gzip.compress(HEALTHY.encode() * 2000)
    (tmp_path / "cut.log.gz").write_bytes(whole[: len(whole) // 2])
    odd = [str(tmp_path / name) for name in ("missing", "core", "empty.log", "no-logs", "cut.log.gz")]
    result = invoke("diagnose", *odd, str(crash))
    assert result.exit_code == 1
    notes = [line for line in result.stderr.splitlines() if line.startswith(f"distkb: note: {tmp_path}")]
    assert len(notes) == len(odd)
    assert all(any(line.startswith(f"distkb: note: {name}: ") for line in notes) for name in odd)
    skipped = json.loads(invoke("diagnose", *odd, str(crash), "--json").stdout)["skipped"]
    assert {item["path"] for item in skipped} == set(odd)


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_nothing_readable_exits_with_2(lang: str, tmp_path: Path) -> None:
    """When nothing at all could be read the exit code is 2 and stdout stays empty."""
    result = invoke("diagnose", str(tmp_path / "missing"), "--lang", lang)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "distkb: note: " in result.stderr
    assert "distkb: error: " in result.stderr


def test_a_missing_report_with_logs_is_only_noted(crash: Path) -> None:
    """The logs are still diagnosed when the report file is not there."""
    result = invoke("diagnose", str(crash), "--report", "/nonexistent/report.txt")
    assert result.exit_code == 1
    assert "/nonexistent/report.txt: not found" in result.stderr


@pytest.mark.parametrize("form", [(), ("--json",), ("--markdown",)])
def test_log_text_is_never_interpreted_by_the_terminal(form: tuple[str, ...], tmp_path: Path) -> None:
    """Escape sequences, terminal commands and reordering marks of a log reach no output; markup stays words."""
    log = tmp_path / "rank1.log"
    log.write_text(CRASH.replace("This error", ESCAPES + "This error"), encoding="utf-8")
    result = invoke("diagnose", str(log), *form)
    assert result.exit_code == 1
    for text in (result.stdout, result.stderr):
        assert not {c for c in text if unicodedata.category(c) in {"Cc", "Cf"} and c != "\n"}


def test_odd_bytes_do_not_hide_the_failure(tmp_path: Path) -> None:
    """NULs, invalid UTF-8, carriage returns and one huge line leave the failure to be found."""
    log = tmp_path / "rank1.log"
    log.write_bytes(
        b"bad \xff\xc3 bytes\n\x00\x00 nul\nprogress 1%\rprogress 2%\r\n" + b"x" * 2_000_000 + b"\n" + CRASH.encode()
    )
    result = invoke("diagnose", str(log))
    assert result.exit_code == 1
    assert "D8" in result.stdout.splitlines()[0]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
def test_a_report_never_waits_without_end(tmp_path: Path, crash: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe to which nobody writes, a device and what is no text are a note each, and the logs are diagnosed."""
    monkeypatch.setattr("distkb.cli.reports.SILENCE_S", 0.1)
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "noise.txt").write_bytes(bytes(range(256)) * 64)
    (tmp_path / "nul.txt").write_bytes(bytes(4096))
    for source, reason in (
        (str(tmp_path / "pipe.txt"), "nothing was written to it within 0.1 s"),
        ("/dev/zero", "neither a file nor a folder"),
        (str(tmp_path / "noise.txt"), "not text"),
        (str(tmp_path / "nul.txt"), "empty"),
    ):
        result = invoke("diagnose", str(crash), "--report", source)
        assert result.exit_code == 1
        assert reason in result.stderr
        assert "D8" in result.stdout.splitlines()[0]


def test_a_report_that_was_hardly_written_is_said(tmp_path: Path, crash: Path) -> None:
    """Of a file that is a hole but for its beginning, what was written is read, and a line says so."""
    with (tmp_path / "sparse.txt").open("wb") as file:
        file.write(b"It hangs.\n")
        file.truncate(1 << 30)
    result = invoke("diagnose", str(crash), "--report", str(tmp_path / "sparse.txt"), "--json")
    assert result.exit_code == 1
    assert "parts of it were never written" in result.stderr
    assert "symptom=hang" in result.stdout


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
def test_a_pipe_that_drips_is_read_until_its_time_is_over(
    tmp_path: Path, crash: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that adds a little for ever does not keep the diagnosis waiting, and what it wrote counts."""
    monkeypatch.setattr("distkb.cli.reports.LONGEST_S", 0.5)
    pipe = tmp_path / "pipe.txt"
    os.mkfifo(pipe)
    writes = "while True: print('It hangs.', file=f, flush=True); time.sleep(0.05)"
    drip = f"import time\nwith open({str(pipe)!r}, 'w') as f:\n  {writes}"
    writer = subprocess.Popen([sys.executable, "-c", drip], stderr=subprocess.DEVNULL)
    try:
        result = invoke("diagnose", str(crash), "--report", str(pipe), "--json")
    finally:
        writer.kill()
        writer.wait()
    assert result.exit_code == 1
    assert "symptom=hang" in result.stdout
