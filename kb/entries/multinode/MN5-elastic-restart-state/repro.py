"""MN5: torchrun restarts the workers after a kill, and they begin again at step 0: their state is not restored.

python repro.py [--fixed]

`ranks/` holds the ranks' logs of both attempts; what the launcher itself prints goes nowhere here.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

STEPS = 8
KILLED_AFTER = 5
METRICS, CHECKPOINT = Path("metrics.jsonl"), Path("checkpoint.pt")

log = logging.getLogger("train")


def node_is_reclaimed() -> None:
    """Kill this worker, as all workers of a node are when it is reclaimed: no handler runs and nothing is printed."""
    dist.barrier()
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGKILL)


def save(model: nn.Module, optimizer: torch.optim.Optimizer, step: int) -> None:
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
    torch.save(state, CHECKPOINT.with_suffix(".new"))
    CHECKPOINT.with_suffix(".new").replace(CHECKPOINT)


def load(model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """Restore the newest checkpoint, drop the metrics written after it, and return its step; 0 without one."""
    if not CHECKPOINT.exists():
        return 0
    state = torch.load(CHECKPOINT, weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    if dist.get_rank() == 0:
        kept = [line for line in METRICS.read_text().splitlines() if json.loads(line)["step"] <= state["step"]]
        METRICS.write_text("".join(f"{line}\n" for line in kept))
    return int(state["step"])


def train(fixed: bool) -> None:
    rank, attempt = dist.get_rank(), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    start = load(model, optimizer) if fixed else 0
    log.info("attempt %d starts at step %d", attempt, start + 1)
    for step in range(start + 1, STEPS + 1):
        loss = model(torch.full((4, 8), 0.1 * (rank + step))).square().mean()
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
        optimizer.step()
        optimizer.zero_grad()
        log.info("step %d loss %.4f", step, loss.item())
        if rank == 0:
            with METRICS.open("a") as metrics:
                metrics.write(json.dumps({"step": step, "loss": loss.item()}) + "\n")
            save(model, optimizer, step)
        if attempt == 0 and step == KILLED_AFTER:
            node_is_reclaimed()
    log.info("training finished")
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixed", action="store_true", help="a restarted worker loads the newest checkpoint")
    parser.add_argument("--train", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    switch = ["--fixed"] if args.fixed else []
    if args.train:
        torch.set_num_threads(1)
        dist.init_process_group("gloo", timeout=timedelta(seconds=10))
        logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{dist.get_rank()}] %(levelname)s %(message)s")
        train(args.fixed)
        dist.destroy_process_group()
        return 0
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "--max-restarts=1"]
    command += ["--log-dir=ranks", "--redirects=3", __file__, "--train", *switch]
    # A store per attempt: in the shared one the second attempt can read the first one's addresses (MN5.c).
    env = {**os.environ, "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
    quiet = subprocess.DEVNULL
    code = subprocess.run(command, stdout=quiet, stderr=quiet, env=env, check=False).returncode
    lines = len(METRICS.read_text().splitlines())
    print(f"{METRICS}: {lines} lines for {STEPS} steps, {'as it should be' if lines == STEPS else 'WRONG'}", flush=True)
    return code or int(lines != STEPS)


if __name__ == "__main__":
    sys.exit(main())
