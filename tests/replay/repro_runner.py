"""Runs an entry's `repro.py` as a user would, and keeps what a user would have: each rank's output and the console.

`python tests/replay/repro_runner.py D21 OUT [--fixed]` records the logs of one run.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from distkb.catalogue.load import load_sources
from distkb.catalogue.model import Entry

KB = Path(__file__).resolve().parents[2] / "kb"


@dataclass(frozen=True)
class Run:
    """What is left of a finished run."""

    returncode: int
    """Negative where the launcher was killed because it ran past its time."""
    logs: Path
    """`console.log`, and under torchrun `ranks/<run id>/attempt_0/<local rank>/{stdout,stderr}.log`."""


def entries_with_repro() -> list[Entry]:
    """The entries that carry a program, in order of id."""
    catalogue, _ = load_sources([KB])
    return [entry for entry in catalogue.entries if entry.repro is not None]


def program(entry: Entry) -> Path:
    """The entry's `repro.py`."""
    return KB / "entries" / entry.family / f"{entry.id}-{entry.slug}" / "repro.py"


def run(entry: Entry, logs: Path, *, fixed: bool) -> Run:
    """Runs the program to its end; kills everything it started when it takes more than twice its stated time."""
    spec = entry.repro
    if spec is None:
        message = f"{entry.id} has no program"
        raise ValueError(message)
    logs.mkdir(parents=True, exist_ok=True)
    script = [str(program(entry)), *(["--fixed"] if fixed else [])]
    command = [sys.executable, *script]
    if spec.launch == "torchrun":
        launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={spec.nproc}"]
        command = [sys.executable, *launcher, f"--log-dir={logs / 'ranks'}", "--redirects=3", "--tee=3", *script]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1", **spec.env}
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "TORCH_DISTRIBUTED_DEBUG"):
        if name not in spec.env:
            env.pop(name, None)
    with (logs / "console.log").open("wb") as console:
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT, env=env, start_new_session=True
        )
        try:
            code = child.wait(timeout=2 * spec.seconds + 20)
        except subprocess.TimeoutExpired:
            code = -signal.SIGKILL
        finally:
            _kill_session(child.pid)
            child.wait()
    return Run(code, logs)


def _kill_session(leader: int) -> None:
    """Kills every process of the session that the leader started; torchrun gives its workers groups of their own."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == leader:
            try:
                os.kill(int(stat.parent.name), signal.SIGKILL)
            except ProcessLookupError:
                continue


def anonymise(folder: Path) -> None:
    """Takes this machine's paths and name out of recorded logs."""
    repo = str(KB.parent)
    for file in folder.rglob("*.log"):
        text = file.read_text(errors="replace")
        text = (
            text.replace(f"{repo}/kb/entries/", "/home/user/").replace(sys.prefix, "/opt/venv").replace(repo, "/work")
        )
        text = re.sub(r"/home/user/[a-z-]+/[A-Z]+\d+-[a-z0-9-]+/repro\.py", "/home/user/train.py", text)
        file.write_text(text.replace(os.uname().nodename, "node0"))


if __name__ == "__main__":
    wanted, out = sys.argv[1], Path(sys.argv[2])
    chosen = next(entry for entry in entries_with_repro() if entry.id == wanted)
    with tempfile.TemporaryDirectory() as scratch:
        result = run(chosen, Path(scratch) / "logs", fixed="--fixed" in sys.argv)
        for path in sorted(result.logs.rglob("*.log")):
            name = path.relative_to(result.logs)
            # One folder a rank, without the run's random id.
            target = out / (name if name.parts[0] == "console.log" else Path(*name.parts[-2:]))
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    anonymise(out)
    print(f"exit code {result.returncode}, logs in {out}")  # noqa: T201 - the script says what it did
