"""Prints how `distkb watch` does on real jobs: which stalls it names, how soon, what it costs, what it leaves.

`watch_stalls.py stalls [KIND...]`, `slurm [KIND...]` (two nodes of the Slurm here), `healthy [SECONDS [TIME]]`,
`cost [SECONDS [STEP]]`, `kills [N]`; gloo, on the CPU. Four ranks, or as many as WATCH_RANKS says. TIME is for `--stall`;
without it the watcher finds its own limit. WATCH_WITHOUT_PTRACE=1: nobody finds py-spy, and the ranks serve their
stacks (as root, for the mount).
"""

# ruff: noqa: T201, D102, D103, E501
from __future__ import annotations

import contextlib
import os
import random
import re
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

JOB = Path(__file__).parents[1] / "watching" / "jobs" / "stall.py"
JOBS = {"collective": JOB.with_name("barrier.py")}
"""Kinds with a script of their own: what is wrong in a script is read in every one of its runs."""
BIN = Path(sys.executable).parent
LIMIT_S, GRACE_S, BEFORE = 10, 3.0, 30
WINDOW_S = 4.0
"""How long the watcher runs, and is stopped, in turn: it looks once a second."""
RANKS = int(os.environ.get("WATCH_RANKS", "4"))
WITHOUT_PTRACE = bool(os.environ.get("WATCH_WITHOUT_PTRACE"))
ODD = {"collective": "0"}
"""The rank that stands elsewhere, where it is not rank 1."""
NOT_STALLED = ("evaluation",)
HIDDEN = ("unshare", "--mount", "sh", "-c", f'mount --bind /dev/null {BIN}/py-spy && exec "$@"', "sh")
"""Before a command: it and all below it find no py-spy."""
KINDS = ("collective", "loader", "lock", "sleep", "stop", "dead", "tracker", "evaluation", "compile", "disk")


class Run:
    """One watcher with the job below it, or a job alone; what it says is kept with the times of its lines."""

    def __init__(self, directory: Path, command: list[str], *, beside: bool = False) -> None:
        """`beside` is a watcher of a job that runs elsewhere: all that it prints is its own."""
        self.directory = directory
        self.log = directory / "job.log"
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "STALL_DIR": str(directory)}
        if WITHOUT_PTRACE:
            environment["STALL_SERVE"] = "1"
        with self.log.open("ab") as stdout:
            self.process = subprocess.Popen(
                [*HIDDEN, *command] if WITHOUT_PTRACE else command,
                stdout=subprocess.PIPE if beside else stdout,
                stderr=subprocess.STDOUT if beside else subprocess.PIPE,
                env=environment,
                text=True,
                start_new_session=True,
            )
        self.lines: list[tuple[float, str]] = []
        self._said = self.process.stdout if beside else self.process.stderr
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._said is not None
        for line in self._said:
            self.lines.append((time.time(), re.sub("^distkb: ?(?!note:|error:)", "", line.rstrip("\n"))))

    def first(self, pattern: str) -> tuple[float, str] | None:
        return next(((at, line) for at, line in list(self.lines) if re.search(pattern, line)), None)

    def text(self) -> str:
        return "\n".join(line for _, line in list(self.lines))


WATCH = [str(BIN / "distkb"), "watch", "--lang", "en"]


@contextlib.contextmanager
def run(job: list[str], watch: list[str] | None) -> Iterator[Run]:
    with tempfile.TemporaryDirectory() as folder:
        torchrun = [
            str(BIN / "torchrun"),
            "--standalone",
            "--nproc-per-node",
            str(RANKS),
            str(JOBS.get(job[0], JOB)),
            *job,
        ]
        before = [] if watch is None else [*WATCH, *watch, "--out", f"{folder}/out", "--"]
        one = Run(Path(folder), [*before, *torchrun])
        try:
            yield one
        finally:
            end(one)


@contextlib.contextmanager
def run_in_slurm(job: list[str], watch: list[str]) -> Iterator[Run]:
    """Run the job on two nodes, half of its ranks on each, and a watcher here, where none is."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:  # the nodes have this one
        meet = "--nnodes 2 --rdzv-backend c10d --rdzv-endpoint $(hostname):29511"
        served = "STALL_SERVE=1 " if WITHOUT_PTRACE else ""
        hidden = " ".join(map(shlex.quote, HIDDEN)) if WITHOUT_PTRACE else ""
        words = f"{hidden} {BIN}/torchrun {meet} --nproc-per-node {RANKS // 2} {JOBS.get(job[0], JOB)} {' '.join(job)}"
        script = Path(folder, "job.sbatch")
        script.write_text(
            f"#!/bin/bash\nexport OMP_NUM_THREADS=1 STALL_DIR={folder} {served}\nsrun --ntasks-per-node 1 {words}\n"
        )
        log = Path(folder, "job.log")
        submit = ["sbatch", "--parsable", "--nodes", "2", "--cpus-per-task", "2", "--output", str(log), str(script)]
        number = subprocess.run(submit, capture_output=True, text=True, check=True).stdout.strip()
        try:
            while not log.exists() or b"step 0" not in log.read_bytes():
                time.sleep(0.2)
            one = Run(Path(folder), [*WATCH, *watch, "--job", number, "--out", f"{folder}/out"], beside=True)
            yield one
            one.process.kill()
            one.process.wait()
        finally:
            subprocess.run(["scancel", "--signal=KILL", number], check=False)
            subprocess.run(["scancel", number], check=False)
            while subprocess.run(["squeue", "-h", "-j", number], capture_output=True, check=False).stdout.strip():
                time.sleep(0.2)


def end(one: Run) -> None:
    for number in (signal.SIGCONT, signal.SIGKILL):
        for pid in carrying(str(one.directory)):
            with contextlib.suppress(OSError):
                os.kill(pid, number)
    one.process.wait()


def carrying(mark: str) -> list[int]:
    """Return every process whose environment has STALL_DIR=mark."""
    found = []
    for path in Path("/proc").iterdir():
        name = path.name
        if name.isdigit() and int(name) != os.getpid():
            with contextlib.suppress(OSError):
                if f"STALL_DIR={mark}".encode() in (path / "environ").read_bytes().split(b"\0"):
                    found.append(int(name))
    return found


def ours(pids: list[int]) -> list[int]:
    """Return those that are distkb's: the watcher, its probes and their tools."""
    found = []
    for pid in pids:
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
            if any(word in words for word in (b"distkb", b"py-spy")) and b"stall.py" not in words.split(b" -- ")[0]:
                found.append(pid)
    return found


def wait(one: Run, seconds: float, done: str) -> bool:
    until = time.time() + seconds
    while time.time() < until:
        if one.first(done):
            return True
        if one.process.poll() is not None:
            return False
        time.sleep(0.1)
    return False


def stop(one: Run, *, in_slurm: bool = False) -> None:
    """Stop the odd rank once it has said who it is."""
    path = one.directory / "stop.pid"
    while one.process.poll() is None and not (path.exists() and path.read_text()):
        time.sleep(0.1)
    if in_slurm:  # its number is one of its node
        (one.directory / "stop").touch()
    else:
        os.kill(int(path.read_text()), signal.SIGSTOP)


@contextlib.contextmanager
def frozen(disk: Path) -> Iterator[None]:
    """A file system that answers no writer: the rank that writes to it waits in state D (as root, for the mount)."""
    disk.mkdir()
    image = disk.with_name("image")
    with image.open("wb") as file:
        file.truncate(16 << 20)
    for words in (
        ["mkfs.ext4", "-q", "-F", str(image)],
        ["mount", "-o", "loop", str(image), str(disk)],
        ["fsfreeze", "-f", str(disk)],
    ):
        subprocess.run(words, check=True)
    try:
        yield
    finally:
        subprocess.run(["fsfreeze", "-u", disk], check=False)
        while subprocess.run(["umount", disk], check=False, stderr=subprocess.DEVNULL).returncode:
            time.sleep(0.2)


def line_of(kind: str) -> str:
    lines = JOBS.get(kind, JOB).read_text(encoding="utf-8").splitlines()
    return next((str(n) for n, line in enumerate(lines, 1) if f"# line: {kind}" in line), r"\d+")


def stalls(kinds: list[str], *, in_slurm: bool = False) -> int:
    good = 0
    for kind in kinds:
        job = [kind, "45", str(BEFORE)]
        elsewhere = in_slurm or WITHOUT_PTRACE  # where nothing that is mounted here is seen
        with contextlib.ExitStack() as around:
            one = around.enter_context((run_in_slurm if in_slurm else run)(job, ["--stall", f"{LIMIT_S}s"]))
            if kind == "disk" and not elsewhere:
                around.enter_context(frozen(one.directory / "disk"))
            if kind == "stop":
                stop(one, in_slurm=in_slurm)
            if kind in NOT_STALLED:
                wait(one, 120, r"silent for.* evaluate at")
                named = wait(one, 40, r"has gone on for")
                said = one.first(r"silent for.* evaluate at")
                good += not named and said is not None
                print(
                    f"{kind:<11} {'FALSE ALARM' if named else 'no alarm'}; {said[1] if said else 'nothing said'}",
                    flush=True,
                )
                continue
            wait(one, 150, r"The limit was")
            whole = re.sub(r"\s+", " ", one.text())
            first = next((at for at, line in one.lines if re.match(r"Ranks? ", line)), None)
            began = one.log.stat().st_mtime
            odd = ODD.get(kind, "1")
            # A worker serves no socket, and those of other nodes are not asked: then the rank's own line has to do.
            worker = rf", which stands in \S*__getitem__ at stall\.py:{line_of(kind)}"
            if WITHOUT_PTRACE or in_slurm:
                worker = ""
            want = {
                "stop": rf"Rank {odd} is stopped by a signal, in \w+ at stall\.py:\d+",
                "loader": rf"Rank {odd} (?:waits|stands in \w+) at stall\.py:{line_of('fetch')}.*{worker}",
                "dead": rf"Rank {odd} is gone; .*at stall\.py:{line_of(kind)}",
                "disk": rf"Rank {odd} stands in \S+ at stall\.py:{line_of('child' if elsewhere else kind)}[^\d]",
            }.get(kind, rf"Rank {odd} stands in \S+ at {JOBS.get(kind, JOB).stem}\.py:{line_of(kind)}[^\d]")
            right = re.search(want, whole) is not None
            late = None if first is None else first - began - LIMIT_S
            ok = right and late is not None and late <= GRACE_S
            good += ok
            wait(one, 60, "all that was seen is in")
            kept = one.first("all that was seen is in")
            verdict = next(
                (
                    line
                    for _, line in one.lines
                    if re.match(r"(The cause is|Probably|Several|No known|Not decided)", line)
                ),
                "?",
            )
            shown = re.search(r"Ranks? .{0,160}", whole)
            print(
                f"{kind:<11} {'ok' if ok else 'NOT OK'}; limit {'-' if late is None else f'{late:+.1f} s'}; "
                f"bundle {'-' if kept is None or first is None else f'{kept[0] - first:+.1f} s'}; {verdict}\n"
                f"            {shown[0] if shown and not ok else shown[0][:100] if shown else one.text()[-1500:]}",
                flush=True,
            )
    print(f"{good} of {len(kinds)}")
    return good


def healthy(seconds: float, stall: str = "") -> None:
    """Watch a job that trains, evaluates for 30 s and saves for 30 s, over and over."""
    with run(["healthy", "30", "200", "0.2"], ["--stall", stall] if stall else []) as one:
        began = time.time()
        while time.time() - began < seconds and one.process.poll() is None:
            time.sleep(1.0)
        passed, (own, below) = time.time() - began, used(one.process.pid)
        steps = re.findall(rb"step (\d+)", one.log.read_bytes())
        alarms = [line for _, line in one.lines if re.search("Nothing has gone on|silent for|has gone on for", line)]
        print(
            f"healthy for {passed:.0f} s, step {int(steps[-1])}: {len(alarms)} alarms {alarms}; "
            f"the watcher uses {own / passed:.2%} of a core, its looks at the ranks {below / passed:.2%}\n{one.text()}"
        )


def cost(seconds: float, step: str = "0.02") -> None:
    """Compare the steps of one job with and without its watcher, which is stopped in every other window of time."""
    for served in ("", "1"):
        os.environ["STALL_SERVE"] = served
        with run(["healthy", "0.05", "1000000", step], []) as one:
            while len(steps_of(one)) < 50:
                time.sleep(0.5)
            watcher, began, cpu = one.process.pid, time.time(), used(one.process.pid)[0]
            pairs: list[float] = []
            while time.time() - began < seconds:
                halves = {}
                for number in random.sample([signal.SIGCONT, signal.SIGSTOP], 2):
                    os.kill(watcher, number)
                    since = len(steps_of(one))
                    time.sleep(WINDOW_S)
                    halves[number] = statistics.median(steps_of(one)[since:])
                pairs.append(halves[signal.SIGCONT] / halves[signal.SIGSTOP] - 1)
            os.kill(watcher, signal.SIGCONT)
            share = (used(watcher)[0] - cpu) / (time.time() - began) * 2
            print(
                f"{'serving its stacks' if served else 'plain'}: {len(pairs)} pairs of {WINDOW_S:.0f} s, a step takes "
                f"{statistics.median(pairs):+.2%} longer beside the watcher (median; mean {statistics.mean(pairs):+.2%} "
                f"± {statistics.stdev(pairs) / len(pairs) ** 0.5:.2%}); it uses {share:.2%} of a core",
                flush=True,
            )
    del os.environ["STALL_SERVE"]


def steps_of(one: Run) -> list[float]:
    """Return how long each step of rank 0 took, as the job wrote it."""
    with contextlib.suppress(OSError):
        return [float(line) for line in (one.directory / "times.0").read_text().split("\n")[:-1]]
    return []


def used(pid: int) -> tuple[float, float]:
    """Return the processor seconds of a watcher, and those of the looks that it has taken so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    own, below = int(fields[11]) + int(fields[12]), int(fields[13]) + int(fields[14])
    return own / os.sysconf("SC_CLK_TCK"), below / os.sysconf("SC_CLK_TCK")


def kills(number: int) -> None:
    """Kill the watcher at random moments, from its start to long after it has reported a stall."""
    chance = random.Random(18)
    good = 0
    for turn in range(number):
        kind = ("healthy", "sleep")[turn % 2]
        with run([kind, "2", "20", "0.1"], ["--stall", "5s"]) as one:
            after = chance.uniform(3.0, 25.0)
            time.sleep(after)
            one.process.kill()
            one.process.wait()
            until = time.time() + 5
            while (left := ours(carrying(str(one.directory)))) and time.time() < until:
                time.sleep(0.05)
            gone_s = 5 - (until - time.time())
            went_on = grows(one.log) if kind == "healthy" else reaches(one.log, b"step 20")
            ranks = [pid for pid in carrying(str(one.directory)) if pid not in left]
            ok = not left and len(ranks) > RANKS and went_on
            good += ok
            print(f"killed after {after:4.1f} s: {len(left)} of ours left ({gone_s:.2f} s), {len(ranks)} of the job's run on, "
                  f"output goes on: {went_on} {'' if ok else 'NOT OK'}", flush=True)  # fmt: skip
    print(f"{good} of {number}")


def reaches(log: Path, line: bytes) -> bool:
    """Whether a job comes to this line, or has; it may still have been starting."""
    until = time.time() + 90
    while line not in log.read_bytes():
        if time.time() > until:
            return False
        time.sleep(0.1)
    return True


def grows(log: Path) -> bool:
    size, until = log.stat().st_size, time.time() + 90
    while time.time() < until:
        if log.stat().st_size > size:
            return True
        time.sleep(0.1)
    return False


if __name__ == "__main__":
    what, *more = sys.argv[1:] or ["stalls"]
    if what == "stalls":
        sys.exit(stalls(more or list(KINDS)) != len(more or KINDS))
    if what == "slurm":
        sys.exit(stalls(more or list(KINDS), in_slurm=True) != len(more or KINDS))
    if what == "healthy":
        healthy(float(more[0]) if more else 60.0, *more[1:2])
    elif what == "cost":
        cost(float(more[0]) if more else 120.0, *more[1:2])
    else:
        kills(int(more[0]) if more else 20)
