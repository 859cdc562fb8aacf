"""Starts the ranks of the smoke test: through torchrun, or the one rank that this process is in an allocation."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from distkb_probes._lifeline import die_with_parent
from distkb_probes.communication.plan import Plan, rank_environ

_NAME = "distkb-allreduce-"
_OLD_S = 3600.0
_MAIN = Path(__file__).resolve().parents[1] / "__main__.py"


def scratch() -> Path:
    """Make a private directory for marks and output; removes old ones that killed runs of this user left behind."""
    for old in Path(tempfile.gettempdir()).glob(f"{_NAME}*"):
        owner = old.name.removeprefix(_NAME).partition("-")[0]
        with contextlib.suppress(OSError, ValueError):
            found = old.stat()
            # The age counts too: a process of another container is not among the pids that can be seen here.
            if found.st_uid == os.getuid() and time.time() - found.st_mtime > _OLD_S and not _lives(int(owner)):
                shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{_NAME}{os.getpid()}-"))


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def torchrun(plan: Plan, directory: Path) -> list[str]:
    """Return the torchrun command of this node."""
    waits = f"join_timeout={plan.share_s('launch') + 5:.0f},read_timeout={max(5.0, plan.share_s('store')):.0f}"
    return [
        sys.executable,
        "-m",
        "torch.distributed.run",
        f"--nnodes={plan.nnodes}",
        f"--nproc-per-node={plan.nproc}",
        "--max-restarts=0",
        "--monitor-interval=0.1",
        "--rdzv-backend=c10d",
        f"--rdzv-endpoint={plan.endpoint or 'localhost:0'}",
        f"--rdzv-id={plan.run}",
        f"--rdzv-conf={waits}",
        f"--log-dir={directory / 'logs'}",
        "--redirects=3",
        *work(directory),
    ]


def work(directory: Path) -> list[str]:
    """Return the script of one rank, with its arguments."""
    return [str(_MAIN), "--worker", "communication.worker", str(directory)]


def start(plan: Plan, directory: Path) -> subprocess.Popen[bytes]:
    """Start the launcher, or in an allocation this process's own rank. Its output goes to `launcher.log`."""
    environ = dict(os.environ)
    if plan.inside:
        command = [sys.executable, "-u", *work(directory)]
        environ.update(rank_environ(os.environ))
    else:
        command = torchrun(plan, directory)
        # What an allocation has set for one rank must not reach the launcher of another job.
        for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
            environ.pop(name, None)
    environ["PYTHONUNBUFFERED"] = "1"
    # What NCCL has to say about a failure is printed from this level on only.
    environ.setdefault("NCCL_DEBUG", "WARN")
    me = os.getpid()
    with (directory / "launcher.log").open("wb") as log:
        return subprocess.Popen(  # noqa: S603 - our own command
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environ,
            preexec_fn=lambda: die_with_parent(me),  # noqa: PLW1509 - this process has one thread
        )


def keep_output(directory: Path, target: Path) -> None:
    """Copy what launcher and ranks printed: `launcher.log`, `rank-N.out.log`, `rank-N.err.log` with N a local rank."""
    target.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(directory / "launcher.log", target / "launcher.log")
    for stream, short in (("stdout", "out"), ("stderr", "err")):
        for path in (directory / "logs").glob(f"*/attempt_0/*/{stream}.log"):
            shutil.copyfile(path, target / f"rank-{path.parent.name}.{short}.log")


def end(process: subprocess.Popen[bytes], ranks: dict[int, int], grace_s: float) -> None:
    """End the launcher and the ranks that are left (rank → pid); one that is finishing has `grace_s` seconds for it."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(grace_s)
    if process.poll() is None:
        process.kill()
    for pid in ranks.values():
        with contextlib.suppress(OSError):
            if ours(pid):
                os.kill(pid, signal.SIGKILL)
    process.wait()


def ours(pid: int) -> bool:
    """Whether a pid is still a rank of a smoke test and not a newer process of the same number."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return b"communication.worker" in command


def state(pid: int) -> str:
    """Return the state of a process as /proc/PID/stat shows it: R, S, D, T; Z or empty for one that has ended."""
    if not sys.platform.startswith("linux"):
        return "R" if _lives(pid) else ""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0].decode()
    except (OSError, IndexError):
        return ""
