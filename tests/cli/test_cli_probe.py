"""`distkb probe`: one contract for every probe, whatever it checks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

DISTKB = str(Path(sys.executable).with_name("distkb"))
LEFTOVER = """compute_environment: LOCAL_MACHINE
distributed_type: MULTI_GPU
mixed_precision: bf16
num_machines: 1
num_processes: 8
"""
CONTRADICTION = LEFTOVER.replace("MULTI_GPU", "'NO'")
SECRETS = {"HF_TOKEN": "hf_abcdefghijklmnopqrstuvwxyz123456", "WANDB_API_KEY": "0123456789abcdef" * 2}
KEYS = [
    "schema", "probe", "status", "reason", "detail", "findings", "clear", "facts", "interpreter", "elapsed_s",
]  # fmt: skip


def run(*arguments: str, lang: str = "en", **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a probe as a user does."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("NCCL_", "TORCH_", "MASTER_"))}
    return subprocess.run(
        [DISTKB, "probe", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env={**clean, "DISTKB_LANG": lang, "OMP_NUM_THREADS": "1", **environ},
        check=False,
    )


def document(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Return the document that a probe printed."""
    loaded: dict[str, Any] = json.loads(done.stdout)
    return loaded


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python without torch."""
    directory = tmp_path_factory.mktemp("bare") / "env"
    venv.create(directory, with_pip=False)
    return directory / "bin" / "python"


@pytest.mark.slow
def test_the_environment_is_one_document_with_every_finding_said_in_both_languages() -> None:
    """A name that nothing reads is found, with what to do, its entry, and where it stands."""
    done = run("env", "--json", NCCL_TIMEOUT="3600", OMP_NUM_THREADS="1")
    held = document(done)
    assert done.returncode == 1
    assert list(held) == KEYS
    assert (held["schema"], held["probe"], held["status"]) == ("distkb.probe/1", "env", "findings")
    found = next(item for item in held["findings"] if item["values"].get("name") == "NCCL_TIMEOUT")
    assert found["severity"] == "warning"
    assert set(found["text"]) == set(found["fix"]) == {"en", "ko"}
    assert "NCCL_TIMEOUT" in found["text"]["ko"]
    assert found["evidence"][0]["text"] == "NCCL_TIMEOUT=3600"
    assert done.stderr == ""


def test_a_sound_environment_is_one_quiet_line_and_exit_code_0() -> None:
    """Nothing wrong, nothing to read."""
    done = run("env", OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith("env: nothing wrong found")


@pytest.mark.slow
def test_a_secret_never_leaves_the_probe() -> None:
    """Tokens in the environment are in no document, not even as a fact."""
    done = run("env", "--json", **SECRETS)
    assert "hf_abcdefghijklmnop" not in done.stdout
    assert "0123456789abcdef" not in done.stdout


@pytest.mark.slow
def test_every_timer_is_listed_on_request() -> None:
    """The explainer says which clocks can end the run; the JSON holds them always."""
    assert "init_process_group(timeout=...)" in run("env", "--timeouts", OMP_NUM_THREADS="1").stdout
    timers = document(run("env", "--json", OMP_NUM_THREADS="1"))["facts"]["timers"]
    assert {"id", "seconds", "knobs", "ineffective", "fired"} <= set(timers[0])


@pytest.mark.slow
def test_the_timer_that_ran_out_is_read_from_the_log() -> None:
    """With a log the explainer names what fired."""
    logs = Path(__file__).parents[2] / "kb" / "incidents" / "I2-frozen-after-validation" / "logs"
    done = run("env", "--log", str(logs), OMP_NUM_THREADS="1")
    assert "5000ms" in done.stdout


def test_without_torch_what_needs_none_still_runs(bare_python: Path) -> None:
    """The environment is checked as far as it goes; a finding says that torch is missing."""
    held = document(run("env", "--json", "--python", str(bare_python)))
    assert "env.torch-missing" in {item["id"] for item in held["findings"]}
    assert held["interpreter"] == {"path": str(bare_python), "why": "asked"}
    assert held["facts"]["versions"]["python"]


@pytest.mark.parametrize("arguments", [("allreduce",), ("fsdp", "--model", "json:loads")])
@pytest.mark.parametrize("lang", ["en", "ko"])
def test_without_torch_a_probe_that_needs_it_exits_with_3_and_says_what_to_do(
    bare_python: Path, arguments: tuple[str, ...], lang: str
) -> None:
    """No traceback, no guess: one sentence with the option that helps."""
    done = run(*arguments, "--python", str(bare_python), lang=lang)
    assert done.returncode == 3
    assert "--python" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("env", "--python", "/nonexistent/python"),
        ("env", "--pid", "0"),
        ("fsdp",),
        ("fsdp", "/nonexistent.yaml"),
        ("fsdp", "--model", "json:loads", "--gpu-memory", "many"),
        ("nothing",),
    ],
)
def test_wrong_usage_exits_with_2_in_one_line(arguments: tuple[str, ...]) -> None:
    """What cannot be read or understood is named."""
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("distkb: error: ")
    assert "Traceback" not in done.stderr


def test_a_process_that_is_not_there_exits_with_3() -> None:
    """A live job that has ended meanwhile is no crash of ours."""
    gone = subprocess.Popen(["true"])
    gone.wait()
    done = run("env", "--pid", str(gone.pid))
    assert done.returncode == 3
    assert str(gone.pid) in done.stdout


def test_a_configuration_that_contradicts_itself_is_found_with_its_line(tmp_path: Path) -> None:
    """`distributed_type: 'NO'` with eight processes starts one process."""
    config = tmp_path / "accelerate.yaml"
    config.write_text(CONTRADICTION, encoding="utf-8")
    done = run("fsdp", str(config), "--json")
    held = document(done)
    assert done.returncode == 1
    places = {(e["path"], e["line"]) for item in held["findings"] for e in item["evidence"]}
    assert (str(config), 2) in places or (str(config), 5) in places


def test_a_sound_configuration_exits_with_0(tmp_path: Path) -> None:
    """What `accelerate config` writes for one machine with eight GPUs is quiet."""
    config = tmp_path / "accelerate.yaml"
    config.write_text(LEFTOVER, encoding="utf-8")
    done = run("fsdp", str(config))
    assert done.returncode == 0, done.stdout
    assert len(done.stdout.splitlines()) == 1


def test_the_printed_folder_holds_the_live_checks_and_nothing_else() -> None:
    """A training script can import them without seeing what distkb itself depends on."""
    folder = Path(run("path").stdout.strip())
    assert {path.name for path in folder.iterdir() if not path.name.startswith(".")} == {"distkb_probes"}
    imported = "import sys; from distkb_probes import live; sys.exit('distkb' in sys.modules)"
    environ = {**os.environ, "PYTHONPATH": str(folder)}
    assert subprocess.run([sys.executable, "-c", imported], env=environ, check=False, timeout=120).returncode == 0


@pytest.mark.slow
def test_a_saved_answer_is_read_by_diagnose(tmp_path: Path) -> None:
    """What a probe found counts in the diagnosis, with its words."""
    (tmp_path / "env.json").write_text(run("env", "--json", RANK="0", WORLD_SIZE="2").stdout, encoding="utf-8")
    done = subprocess.run([DISTKB, "diagnose", "--json", str(tmp_path)], capture_output=True, timeout=120, check=False)
    causes = json.loads(done.stdout)["causes"]
    assert causes[0]["entry"] == "D1"
    assert any(e["observation"].startswith("env.") for e in causes[0]["evidence"])
