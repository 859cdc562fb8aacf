"""A job of several ranks that trains a little and then stops to go on, in the way that its first argument names.

`healthy` never does: it evaluates and saves for as long as the second argument says. The third is the number of steps
before the stall, the fourth the seconds that a step takes. With STALL_SERVE each rank offers its stacks at its socket.
"""

# ruff: noqa: D103, T201 - a training script imports torch and prints
from __future__ import annotations

import ctypes
import datetime
import fcntl
import os
import signal
import socket
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

if os.environ.get("STALL_SERVE"):
    from distkb_probes import serve

    serve.serve()

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

KIND = sys.argv[1]
PAUSE_S = float(sys.argv[2]) if len(sys.argv) > 2 else 30.0
BEFORE = int(sys.argv[3]) if len(sys.argv) > 3 else 20
STEP_S = float(sys.argv[4]) if len(sys.argv) > 4 else 0.2
RANK = int(os.environ["RANK"])
ODD = 1
PLACE = Path(os.environ.get("STALL_DIR", tempfile.gettempdir()))


class Numbers(Dataset[torch.Tensor]):
    """Gives numbers; a worker of the odd rank stops at one of them."""

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index: int) -> torch.Tensor:
        if KIND == "loader" and RANK == ODD and index == BEFORE:
            time.sleep(10_000)  # line: loader
        return torch.ones(4)


def say(text: str) -> None:
    stamp = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
    print(f"{stamp} [rank{RANK}] {text}", flush=True)


def wait_for_lock() -> None:
    path = PLACE / "cache.lock"
    if path.open("w").fileno() and os.fork() == 0:  # somebody else holds it, and does not give it back
        held = path.open("w")
        fcntl.flock(held, fcntl.LOCK_EX)
        time.sleep(10_000)
    time.sleep(0.5)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # line: lock


def download_weights() -> None:
    time.sleep(10_000)  # line: sleep


def log_to_tracker() -> None:
    server = socket.create_server(("127.0.0.1", 0))
    urllib.request.urlopen(f"http://127.0.0.1:{server.getsockname()[1]}/log", data=b"x").read()  # line: tracker


def wait_for_file() -> None:
    while not (PLACE / "go").exists():
        time.sleep(0.2)  # line: until


def compile_kernels() -> None:
    path = PLACE / "kernel.baton"
    path.touch()
    from torch.utils.file_baton import FileBaton

    FileBaton(str(path)).wait()  # line: compile


def write_metrics() -> None:
    disk = PLACE / "disk"
    if disk.is_mount():
        (disk / "metrics.txt").write_text("loss 0\n")  # line: disk
        return
    path = PLACE / "metrics.fifo"
    os.mkfifo(path)
    kernel, actions = ctypes.CDLL(None), ctypes.create_string_buffer(256)
    kernel.posix_spawn_file_actions_init(actions)
    kernel.posix_spawn_file_actions_addopen(actions, 3, os.fsencode(path), os.O_RDONLY, 0)
    # The child opens a pipe that nobody writes to; until it has, its parent waits in state D, as one does for a disk.
    kernel.posix_spawn(None, b"/bin/true", actions, None, (ctypes.c_char_p * 2)(b"true", None), None)  # line: child


def evaluate(model: torch.nn.Module, seconds: float) -> None:
    until = time.monotonic() + seconds
    total = 0.0
    while time.monotonic() < until:
        for width in (8, 16, 32):
            batch = torch.rand(width, 4)
            total += float(model(batch).sum())
    say(f"validation {total:.1f}")


def save_checkpoint(seconds: float) -> None:
    time.sleep(seconds)


def wait_to_be_stopped() -> None:
    if os.fork() == 0:  # where nobody else can, on another node
        while not (PLACE / "stop").exists():
            time.sleep(0.1)
        os.kill(os.getppid(), signal.SIGSTOP)
        os._exit(0)
    (PLACE / "stop.pid").write_text(str(os.getpid()))  # somebody stops it, wherever it is then


def save_token_and_wait() -> None:
    say("token hf_abcdefghijklmnopqrstuvwxyz123456")
    wait_for_file()


def leave() -> None:
    say("done")
    os._exit(0)


def wait_for_its_result() -> None:
    time.sleep(1.0)
    dist.distributed_c10d._get_default_store().wait(["result_of_1"], datetime.timedelta(hours=9))  # line: dead


def pause_to_evaluate() -> None:
    evaluate(torch.nn.Linear(4, 1), PAUSE_S)


STALLS: dict[tuple[str, int], Callable[[], None]] = {
    ("lock", ODD): wait_for_lock,
    ("until", ODD): save_token_and_wait,
    ("sleep", ODD): download_weights,
    ("tracker", ODD): log_to_tracker,
    ("compile", ODD): compile_kernels,
    ("disk", ODD): write_metrics,
    ("stop", ODD): wait_to_be_stopped,
    ("dead", ODD): leave,
    ("evaluation", 0): pause_to_evaluate,
}
"""What one rank does. A test of the rank in the code would be a bug of its own to whoever reads this script."""
OTHERS: dict[str, Callable[[], None]] = {"dead": wait_for_its_result}


def stall() -> None:
    """Do what this kind does, once."""
    does = STALLS.get((KIND, RANK)) or OTHERS.get(KIND)
    if does is not None:
        does()


def train() -> None:
    model = DistributedDataParallel(torch.nn.Linear(4, 1))
    loader = DataLoader(Numbers(), batch_size=1, num_workers=1 if KIND == "loader" else 0, prefetch_factor=None)
    began = time.perf_counter()
    times = (PLACE / f"times.{RANK}" if KIND == "healthy" else Path(os.devnull)).open("a", buffering=1)
    for step, batch in enumerate(loader):  # line: fetch
        model(batch).sum().backward()
        time.sleep(STEP_S)
        say(f"step {step} loss 0.5")
        times.write(f"{time.perf_counter() - began:.6f}\n")
        began = time.perf_counter()
        if step == BEFORE:
            (PLACE / f"stalls.{RANK}").write_text(repr(time.time()))
            stall()
        if KIND == "healthy" and step % BEFORE == BEFORE - 1:
            if RANK == 0:
                evaluate(model.module, PAUSE_S)
            dist.barrier()
            if RANK == 0:
                save_checkpoint(PAUSE_S)
            dist.barrier()


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=datetime.timedelta(hours=9))
    train()


if __name__ == "__main__":
    main()
