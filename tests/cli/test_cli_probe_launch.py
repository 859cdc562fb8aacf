"""`distkb probe launch`: what it reads, what other probes hand over to it, and how it prints it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_calls import invoke

FILES = Path(__file__).parents[1] / "launch"
WRONG = FILES / "fresh" / "wrong" / "rank-inline.sbatch"
RIGHT = FILES / "first" / "right" / "torch-example.sbatch"


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_a_finding_has_its_line_and_the_corrected_command(lang: str) -> None:
    """The screen quotes the line and prints what to write there; the exit code is 1."""
    result = invoke("probe", "launch", str(WRONG), "--lang", lang)
    assert result.exit_code == 1
    assert "rank-inline.sbatch:4" in result.stdout
    assert "RANK=$SLURM_PROCID" in result.stdout


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_a_right_file_is_a_quiet_screen(lang: str) -> None:
    """Nothing wrong is one line and exit code 0."""
    result = invoke("probe", "launch", str(RIGHT), "--lang", lang)
    assert (result.exit_code, len(result.stdout.strip().splitlines())) == (0, 1)


@pytest.mark.parametrize("probe", ["script", "fsdp"])
def test_other_probes_hand_launch_files_over(probe: str) -> None:
    """A launch file given to them gets the answer of the launch probe."""
    handed = json.loads(invoke("probe", probe, str(WRONG), "--json").stdout)
    own = json.loads(invoke("probe", "launch", str(WRONG), "--json").stdout)
    assert own["probe"] == "launch"
    assert handed == own


def test_a_script_and_its_launch_file_are_one_answer(tmp_path: Path) -> None:
    """What is wrong in either is reported by `probe script` when both are given."""
    script = tmp_path / "ddp.py"
    script.write_text("import torch.distributed as dist\n\nif dist.get_rank() == 0:\n    dist.barrier()\n")
    document = json.loads(invoke("probe", "script", str(script), str(WRONG), "--json").stdout)
    assert document["probe"] == "script"
    assert {f["id"].partition(".")[0] for f in document["findings"]} == {"config", "script"}


def test_the_launch_files_of_a_folder_are_found(tmp_path: Path) -> None:
    """A folder stands for the launch files in it; other files in it are passed over without a word."""
    (tmp_path / "run.sbatch").write_text(WRONG.read_text())
    (tmp_path / "notes.sh").write_text("echo nothing is launched here\n")
    result = invoke("probe", "launch", str(tmp_path), "--json")
    assert {f["evidence"][0]["path"] for f in json.loads(result.stdout)["findings"]} == {str(tmp_path / "run.sbatch")}
    assert result.stderr == ""


def test_what_cannot_be_read_is_one_line_and_exit_2(tmp_path: Path) -> None:
    """A folder without launch files, a missing file and a file that launches nothing are wrong input."""
    other = tmp_path / "notes.sh"
    other.write_text("echo nothing\n")
    for path in (tmp_path, tmp_path / "absent.sbatch", other):
        result = invoke("probe", "launch", str(path))
        assert (result.exit_code, result.stdout) == (2, "")
        assert "Traceback" not in result.stderr
