"""`distkb advise`: the answer, its files, its exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


def distkb(*args: str) -> subprocess.CompletedProcess[str]:
    """Run the program."""
    return subprocess.run([sys.executable, "-m", "distkb", *args], capture_output=True, text=True, check=False)


ASKED = ("advise", "--params", "7B", "--gpus", "8", "--gpu-memory", "80G")


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_the_screen_names_the_strategy_to_start_from_in_eighty_columns(lang: str) -> None:
    """The first line says what to start from; no line but the command is wider than 80 columns."""
    from distkb.report.layout import width

    done = distkb(*ASKED, "--lang", lang)
    assert done.returncode == 0, done.stderr
    assert "FSDP2" in done.stdout.splitlines()[0]
    assert all(width(line) <= 80 for line in done.stdout.splitlines() if "torchrun" not in line)


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_a_frozen_model_has_no_master_weights(lang: str) -> None:
    """With LoRA the run is said to be in bfloat16, and nothing about float32 masters that nobody keeps."""
    for precision in ("bf16", "pure-bf16"):
        said = distkb(*ASKED, "--lora", "16", "--precision", precision, "--lang", lang).stdout
        assert f"{'실행' if lang == 'ko' else 'Run'}: bfloat16, AdamW" in said


def test_the_document_carries_every_strategy_and_the_files() -> None:
    """The JSON has the bytes of each strategy and the launch that belongs to the chosen one."""
    document = json.loads(distkb(*ASKED, "--json").stdout)
    assert document["schema"] == "distkb.advice/1"
    assert document["start"]["strategy"] == "fsdp2"
    assert set(document["start"]["files"]) == {"accelerate.yaml", "ds_config.json", "train.sbatch"}
    assert {"ddp", "zero3", "fsdp2", "full_shard"} <= {row["id"] for row in document["strategies"]}


def test_files_are_written_once_and_never_overwritten(tmp_path: Path) -> None:
    """`--write` creates the folder; a second time it refuses and leaves everything as it is."""
    folder = tmp_path / "launch"
    assert distkb(*ASKED, "--write", str(folder)).returncode == 0
    (folder / "train.sbatch").write_text("mine")
    again = distkb(*ASKED, "--write", str(folder))
    assert again.returncode == 2
    assert (folder / "train.sbatch").read_text() == "mine"


def test_where_nothing_fits_the_number_of_gpus_that_would_do_is_said() -> None:
    """Exit code 1, and the smallest number that fits."""
    done = distkb("advise", "--params", "1T", "--gpus", "8", "--gpu-memory", "24G", "--json")
    assert done.returncode == 1
    document = json.loads(done.stdout)
    assert document["start"] is None


@pytest.mark.parametrize(
    "args",
    [
        ("advise", "--gpus", "8", "--gpu-memory", "80G"),
        (*ASKED, "--config", "x.json"),
        ("advise", "--params", "seven", "--gpus", "8", "--gpu-memory", "80G"),
        ("advise", "--params", "7B", "--gpus", "8", "--gpu-memory", "much"),
        ("advise", "--params", "7B", "--gpus", "12", "--gpu-memory", "80G", "--gpus-per-node", "8"),
        ("advise", "--config", __file__, "--gpus", "8", "--gpu-memory", "80G"),
        ("advise", "--params", "nan", "--gpus", "8", "--gpu-memory", "80G"),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(args: tuple[str, ...]) -> None:
    """What cannot be understood is said in one line."""
    done = distkb(*args)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stderr
