"""Runs programs until they hang, and keeps what a user would have: `python record_joint.py [NAME...]`.

Into `data/joint/recorded/NAME`: `logs/` (console and ranks), `stacks/` (as `distkb probe stacks --save` writes them),
`dumps/` (the flight recorder of gloo, one file per rank) and `train.py`. Needs Linux and py-spy; leaves no process.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent / "data" / "joint"
PROGRAMS, RECORDED = HERE / "programs", HERE / "recorded"
WORK = Path("/tmp/joint")  # noqa: S108 - as long as /home/user, which takes its place in binary dumps
DUMPS = {"retry_download", "skip_bad_batch", "two_groups"}
"""Programs in whose answer the recorder's dumps have a say; those of the others would only take up room."""
RANKS, QUIET_S, MOST_S = 3, 5.0, 120.0
DUMP = """
import os, threading, time
def _dump():
    while not os.path.exists("dump.now"):
        time.sleep(0.2)
    from torch._C._distributed_c10d import _dump_fr_trace
    with open(f"fr_trace_{os.environ['RANK']}", "wb") as out:
        out.write(_dump_fr_trace())
if "RANK" in os.environ and "LOCAL_RANK" in os.environ:
    threading.Thread(target=_dump, daemon=True).start()
"""


def record(name: str) -> None:
    """Record one program."""
    shutil.rmtree(WORK, ignore_errors=True)
    (WORK / "site").mkdir(parents=True)
    (WORK / "site" / "sitecustomize.py").write_text(DUMP)
    shutil.copyfile(PROGRAMS / f"{name}.py", WORK / "train.py")
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={RANKS}"]
    logs = [f"--log-dir={WORK / 'ranks'}", "--redirects=3", "--tee=3"]
    more = {"OMP_NUM_THREADS": "1", "TORCH_FR_BUFFER_SIZE": "200", "PYTHONPATH": str(WORK / "site")}
    with (WORK / "console.log").open("wb") as console:
        job = subprocess.Popen(
            [*launch, *logs, "train.py"], cwd=WORK, stdout=console, stderr=console, start_new_session=True,
            env={**os.environ, **more, "PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
        try:
            _wait_until_quiet(job)
            distkb = str(Path(sys.executable).with_name("distkb"))
            save = [distkb, "probe", "stacks", "--pid", str(job.pid), "--save", str(WORK / "stacks"), "--json"]
            subprocess.run(save, check=False, stdout=subprocess.DEVNULL, timeout=120)
            (WORK / "dump.now").touch()
            _wait_for(lambda: sum(path.stat().st_size > 0 for path in WORK.glob("fr_trace_*")) == RANKS, 30.0)
        finally:
            _kill_tree(job.pid)
            job.wait()
    _keep(name)


def _wait_until_quiet(job: subprocess.Popen[bytes]) -> None:
    """Wait until every rank has printed and nobody has printed for a while."""
    began = last = time.monotonic()
    size = -1
    while time.monotonic() - began < MOST_S:
        now = sum(path.stat().st_size for path in (WORK / "ranks").rglob("std*.log"))
        if now != size or not now:
            size, last = now, time.monotonic()
        if job.poll() is not None:
            raise SystemExit(f"it ended with {job.returncode} instead of hanging: {(WORK / 'console.log').read_text()}")
        if time.monotonic() - last > QUIET_S:
            return
        time.sleep(0.1)
    raise SystemExit("it did not hang")


def _wait_for(done: Callable[[], bool], seconds: float) -> None:
    until = time.monotonic() + seconds
    while not done() and time.monotonic() < until:
        time.sleep(0.1)


def _kill_tree(root: int) -> None:
    """Kill a process and all below it; torchrun's workers are leaders of sessions of their own."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    doomed = [root]
    for process in doomed:
        doomed += children.get(process, [])
    for process in doomed:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def _keep(name: str) -> None:
    target = RECORDED / name
    shutil.rmtree(target, ignore_errors=True)
    copies = {Path("console.log"): Path("logs/console.log"), Path("train.py"): Path("train.py")}
    for path in (WORK / "ranks").rglob("std*.log"):
        if path.stat().st_size:
            copies[path.relative_to(WORK)] = Path("logs") / path.parent.name / path.name
    node = f"-{os.uname().nodename}-"
    for path in (WORK / "stacks").glob("*"):
        copies[path.relative_to(WORK)] = Path("stacks") / path.name.replace(node, "-node0-")
    if name in DUMPS:
        copies |= {path.relative_to(WORK): Path("dumps") / path.name for path in WORK.glob("fr_trace_*")}
    for source, place in copies.items():
        out = target / place
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_bytes(_anonymous((WORK / source).read_bytes(), binary=place.parts[0] == "dumps"))


def _anonymous(data: bytes, *, binary: bool) -> bytes:
    """Take this machine's paths and name out; in binary files by others of the same length."""
    repo = str(Path(__file__).resolve().parents[2]).encode()
    same = b"/opt/" + b"train-project-x"[: len(repo) - 5] if 5 < len(repo) <= 20 else repo
    data = data.replace(str(WORK).encode(), b"/home/user").replace(repo, same)
    if not binary:
        base = str(Path(sys.base_prefix)).encode()
        name = os.uname().nodename.encode()
        data = data.replace(base, b"/usr/local").replace(b'"%s"' % name, b'"node0"').replace(name + b"_", b"node0_")
    return data


if __name__ == "__main__":
    for wanted in sys.argv[1:] or sorted(path.stem for path in PROGRAMS.glob("*.py")):
        record(wanted)
        kept = sum(file.stat().st_size for file in (RECORDED / wanted).rglob("*") if file.is_file())
        sys.stdout.write(f"{wanted}: {kept} bytes\n")
