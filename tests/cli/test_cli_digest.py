"""`distkb digest`: what decides, within its budget, with places that hold what is shown and handles that show more."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from cli_calls import invoke

from distkb.intake_process import ReadingProcess, ReadRequest
from distkb.report.digest.tokens import tokens

RANKS, STEPS, ODD = 12, 900, 7
ECHO = """\
[rank{r}]: Traceback (most recent call last):
[rank{r}]:   File "/home/me/train.py", line 9, in <module>
[rank{r}]:     main()
[rank{r}]:   File "/home/me/train.py", line 6, in main
[rank{r}]:     loss.backward()
[rank{r}]:   File "/opt/venv/lib/python3.11/site-packages/torch/_tensor.py", line 623, in backward
[rank{r}]:     torch.autograd.backward(
[rank{r}]: RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 1800000ms \
for recv operation to complete
"""
SCRIPT = """\
import torch
def main():
    for batch in loader:
        if not len(batch):
            continue
        loss = model(batch); loss.backward()
        token = "hf_abcdefghijklmnopqrstuvwxyz012345"
    finish()
main()
"""
SECRET = "hf" + "_abcdefghijklmnopqrstuvwxyz012345"
ESCAPES = "\x1b[31m\x1b]0;owned\x07\u202eboo\x9b2J"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of which one rank skipped a batch and the others waited for it, with a line that holds a secret."""
    folder = tmp_path_factory.mktemp("run")
    for rank in range(RANKS):
        lines = [f"2026-11-25 09:59:58 INFO rank {rank} up, HF_TOKEN={SECRET} {ESCAPES}"]
        lines += [
            f"2026-11-25 10:{s // 60:02}:{s % 60:02} INFO rank {rank} step {s} loss {3 - s / 1e3:.3f}"
            for s in range(STEPS)
        ]
        end = "2026-11-25 10:15:00 WARNING rank 7 skipping batch: no samples left in it\n"
        end = end if rank == ODD else ECHO.format(r=rank)
        (folder / f"rank_{rank}.log").write_text("\n".join(lines) + "\n" + end)
    (folder / "train.py").write_text(SCRIPT)
    return folder


def document(*args: str) -> dict[str, Any]:
    """The digest as JSON."""
    found: dict[str, Any] = json.loads(invoke("digest", *args, "--json").stdout)
    return found


def items(found: dict[str, Any]) -> list[dict[str, Any]]:
    """All of its lines."""
    return [item for section in found["sections"] for item in section["items"]]


@pytest.mark.parametrize("lang", ["en", "ko"])
@pytest.mark.parametrize("budget", [500, 1000, 3000])
def test_it_costs_no_more_than_its_budget(run: Path, budget: int, lang: str) -> None:
    """Headings and notes of what was left out count too."""
    result = invoke("digest", str(run), "--tokens", str(budget), "--lang", lang)
    assert result.exit_code == 1
    assert tokens(result.stdout) <= budget


def test_it_holds_what_decides(run: Path) -> None:
    """The line of the one rank, where the others wait with the code there, and who became what."""
    shown = invoke("digest", str(run)).stdout
    assert re.search(r"rank_7\.log:902 \[7\].*skipping batch", shown)
    assert "0-6, 8-11" in shown
    assert re.search(r":6 \[0-6, 8-11\] +loss = model\(batch\); loss\.backward\(\)", shown)
    assert "Timed out waiting 1800000ms" in shown
    assert "step 899" in shown


def test_every_line_of_the_run_stands_where_it_says(run: Path) -> None:
    """A quoted line is at its path and line; only marks, times and secrets were taken from it."""
    checked = 0
    for item in items(document(str(run))):
        if not item["quoted"] or item["path"].startswith("/home"):
            continue
        words = re.findall(r"[A-Za-z_]{4,}", item["text"].partition("…")[0])
        lines = Path(item["path"]).read_text(errors="replace").split("\n")
        there = " ".join(lines[item["line"] - 1 : item["line"] + 1])  # a frame is two lines
        assert all(word in there for word in words), item
        checked += 1
    assert checked > 20


def test_it_is_a_view_of_the_diagnosis(run: Path) -> None:
    """The verdict and the first cause are those of `distkb diagnose`, and so is the exit code."""
    diagnosed = invoke("diagnose", str(run), "--json")
    answer = json.loads(diagnosed.stdout)
    found = document(str(run))
    causes = next(section for section in found["sections"] if section["name"] == "causes")
    assert found["verdict"] == answer["verdict"]
    assert any(item["text"].startswith(answer["causes"][0]["cause"]) for item in causes["items"])
    assert invoke("digest", str(run)).exit_code == diagnosed.exit_code


@pytest.mark.slow
def test_what_was_left_out_is_shown_on_demand(run: Path) -> None:
    """A section says how much it left out, and `--more` with its name shows more of it."""
    small = document(str(run), "--tokens", "600")
    cut = [section for section in small["sections"] if section["left_out"]]
    assert cut
    for section in cut:
        whole = document(str(run), "--more", section["name"], "--tokens", "20000")
        assert [one["name"] for one in whole["sections"]] == [section["name"]]
        assert len(whole["sections"][0]["items"]) > len(section["items"])
    assert "--more " + cut[0]["name"] in invoke("digest", str(run), "--tokens", "600").stdout


def test_one_rank_is_shown_on_demand(run: Path) -> None:
    """`--rank` shows the rank's state and its own output, and no other rank's."""
    found = document(str(run), "--rank", "7")
    own = next(section for section in found["sections"] if section["name"] == "rank")
    assert {Path(item["path"]).name for item in own["items"]} == {"rank_7.log"}
    assert "skipping batch" in own["items"][-1]["text"]


def test_the_lines_around_a_place_are_shown_on_demand(run: Path) -> None:
    """`--around` takes a place as a digest writes it; the line asked for is among the few that fit."""
    result = invoke("digest", str(run), "--around", "rank_7.log:902", "--tokens", "500")
    assert result.exit_code == 0
    assert "rank_7.log:878" not in result.stdout
    assert "skipping batch" in result.stdout
    whole = document(str(run), "--around", "rank_7.log:500")
    assert [item["line"] for item in items(whole)] == list(range(475, 526))


@pytest.mark.parametrize(
    "args",
    [
        ("--around", "rank_7.log"),
        ("--around", "rank_7.log:99999"),
        ("--around", "../etc/passwd:1"),
        ("--around", "/etc/passwd:1"),
        ("--rank", "99"),
        ("--rank", "1", "--more", "causes"),
        ("--more", "nothing"),
    ],
)
def test_what_does_not_exist_is_wrong_usage(run: Path, args: tuple[str, ...]) -> None:
    """One line says why; a file that was not given is never opened."""
    result = invoke("digest", str(run), *args)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert len(result.stderr.strip().splitlines()) == 1


def test_nothing_to_read_is_said(tmp_path: Path) -> None:
    """A path without a log exits with 2, as for `diagnose`."""
    result = invoke("digest", str(tmp_path / "none"))
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "args", [(), ("--rank", "3"), ("--around", "rank_3.log:1"), ("--more", "scripts"), ("--json",)]
)
def test_secrets_and_escapes_stay_inside(run: Path, args: tuple[str, ...]) -> None:
    """No way of looking shows a token, nor a character that a terminal obeys."""
    shown = invoke("digest", str(run), *args, "--tokens", "20000").stdout
    assert SECRET not in shown
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", shown)


def test_a_healthy_run_is_told_too(tmp_path: Path) -> None:
    """Where nothing failed, the course of the numbers is shown, and the exit code is 0."""
    lines = [f"step {s} loss {1 / (s + 1):.4f}" for s in range(60)]
    (tmp_path / "rank0.log").write_text("\n".join(lines) + "\ntraining finished\n")
    result = invoke("digest", str(tmp_path))
    assert result.exit_code == 0
    assert "step 0 loss 1.0000" in result.stdout
    assert "step 59 loss 0.0167" in result.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes there")
def test_a_file_whose_name_is_no_text_is_read_and_shown(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 in a log's name end neither a digest nor a diagnosis, nor the reading for the screen."""
    named = tmp_path / os.fsdecode(b"rank0-\xff\xfe.log")
    named.write_text("[rank0]: RuntimeError: Timed out waiting 5000ms for recv operation to complete\n")
    for command in ("digest", "diagnose"):
        for form in ((), ("--json",)):
            result = invoke(command, str(tmp_path), *form)
            assert "Timed out waiting 5000ms" in re.sub(r"\s+", " ", result.stdout), result.stderr
    assert ReadingProcess(ReadRequest(paths=(str(named),))).result().observations
