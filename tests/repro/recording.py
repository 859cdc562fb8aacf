"""Records the logs of incidents from their programs, without this machine's names in them."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from reproductions import KB, catalogue, reproduce

from distkb.catalogue.incident import StoredIncident
from distkb.catalogue.model import Repro
from distkb.repro.program import Program, find_program


def programs(found: StoredIncident) -> dict[str | None, Program]:
    """Return the programs that an incident was recorded from: by variant, None for an incident without any."""
    recorded = found.incident.recorded
    entries = {entry.id: entry for entry in catalogue().entries}
    if recorded.program in entries:
        program = find_program(entries[recorded.program], [KB])
        assert program is not None
        return {None: program}
    return {
        variant.id: Program(
            entry=entries[variant.answer.partition(".")[0]],
            spec=Repro(nproc=recorded.nproc, seconds=30, shows=()),
            directory=found.directory,
            file=recorded.program,
            arguments=("--variant", variant.id),
        )
        for variant in found.incident.variants
    }


def record(found: StoredIncident, scratch: Path, python: Path) -> list[Path]:
    """Record the incident anew; returns the folders of logs that were written."""
    written = []
    for variant, program in programs(found).items():
        run = reproduce(program, scratch / (variant or "one"), fixed=False, python=python)
        assert run.reason is None, run
        target = found.logs(variant)
        shutil.rmtree(target, ignore_errors=True)
        keep(run.artifacts, target, python, stacks=variant is not None)
        written.append(target)
    return written


def keep(artifacts: Path, target: Path, python: Path, *, stacks: bool) -> None:
    """Copy a run's console and each rank's output, one folder a rank, and its stacks, all without our names."""
    chosen = {Path("console.log"): artifacts / "console.log"}
    for path in sorted(artifacts.glob("ranks/*/attempt_0/*/std*.log")):
        chosen[Path(*path.parts[-2:])] = path
    for path in sorted(artifacts.glob("stacks/rank*.json")) if stacks else ():
        chosen[Path("stacks") / f"{path.name.partition('-')[0]}.json"] = path
    for name, path in chosen.items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text(encoding="utf-8", errors="replace")
        (target / name).write_text(anonymous(text, python), encoding="utf-8")


def anonymous(text: str, python: Path) -> str:
    """Take this machine's paths and name out of a text."""
    text = re.sub(r"/[\w./-]*/distkb-probe-\w+/train\.py", "/home/user/train.py", text)
    text = re.sub(r"/[\w./-]*/distkb-repro-\w+|/[\w./-]*/artifacts(?=/)", "/home/user/run", text)
    text = text.replace(str(python.parent.parent), "/opt/venv").replace(str(KB.parent), "/work")
    return re.sub(rf"\b{re.escape(os.uname().nodename)}\b", "node0", text)
