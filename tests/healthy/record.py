"""Records the logs of healthy jobs.

Run `python tests/healthy/record.py` after an upgrade of torch or accelerate.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
JOBS: dict[str, tuple[list[str], dict[str, str]]] = {
    "ddp": (["ddp.py"], {}),
    "ddp-info": (["ddp.py"], {"TORCH_DISTRIBUTED_DEBUG": "INFO", "TORCH_CPP_LOG_LEVEL": "INFO"}),
    "fsdp1-verbose": (["fsdp.py", "fsdp1"], {"TORCH_CPP_LOG_LEVEL": "INFO"}),
    "fsdp1": (["fsdp.py", "fsdp1"], {}),
    "fsdp2": (["fsdp.py", "fsdp2"], {"TORCH_DISTRIBUTED_DEBUG": "INFO"}),
    "accelerate": (["accelerated.py"], {}),
}


def record(name: str, out: Path) -> None:
    """Runs one job on two processes; its per-rank files and its console go to `out/name`."""
    script, env = JOBS[name]
    target = out / name
    shutil.rmtree(target, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
        command += [f"--log-dir={folder}", "--redirects=3", "--tee=3", str(HERE / "jobs" / script[0]), *script[1:]]
        done = subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{name} is not healthy:\n{done.stdout}{done.stderr}")
        for file in Path(folder).rglob("std*.log"):
            copy = target / "ranks" / file.parent.name / file.name
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(_anonymous(file.read_text()))
    (target / "console.log").write_text(_anonymous(done.stdout + done.stderr))


def _anonymous(text: str) -> str:
    """Takes the machine's own paths and host name out."""
    text = text.replace(str(HERE.parent.parent), "/work").replace(sys.prefix, "/venv")
    return re.sub(re.escape(os.uname().nodename), "node0", text)


if __name__ == "__main__":
    for job in sys.argv[1:] or JOBS:
        record(job, HERE / "logs")
