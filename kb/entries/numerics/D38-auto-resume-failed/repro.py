"""D38: a job killed while it saves is requeued, cannot read the half-written checkpoint, and starts over from step 0.

`python repro.py [--fixed]` plays the scheduler: it starts the job, which dies in the middle of a save, and starts the
same command again. `--fixed` writes to a temporary name, renames, and resumes from the newest file that can be read.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import sys
from pathlib import Path

import torch
from torch import nn

STEPS, SAVE_EVERY, KILLED_AT = 12, 3, 9
FOLDER = Path("checkpoints")
log = logging.getLogger("train")


def save(state: dict[str, object], step: int, *, fixed: bool, killed: bool) -> None:
    """Write `step-N.pt`; `killed` ends the process half-way, as the time limit of the job does."""
    path = FOLDER / f"step-{step}.pt"
    target = path.with_suffix(".tmp") if fixed else path
    torch.save(state, target)
    if killed:
        os.truncate(target, target.stat().st_size // 2)
        os._exit(143)
    if fixed:
        target.replace(path)


def load(fixed: bool) -> dict[str, object] | None:
    """Return the state to go on from; None to begin at step 0."""
    files = sorted(FOLDER.glob("step-*.pt"), key=lambda path: int(path.stem.partition("-")[2]), reverse=True)
    for path in files if fixed else files[:1]:
        try:
            state = torch.load(path, weights_only=True)
        except Exception as error:  # noqa: BLE001 - this is the mistake: whatever it is, training goes on
            log.warning("could not load %s: %s", path, str(error).splitlines()[0])
            continue
        log.info("resumed from %s at step %d", path, state["step"])
        return state
    return None


def train(fixed: bool, attempt: int) -> None:
    """Train to the end, or to where the job is killed in its first attempt."""
    torch.manual_seed(0)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    state = load(fixed)
    start = 0
    if state is None:
        log.info("training begins at step 0")
    else:
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        start = int(str(state["step"]))
    if attempt and start < KILLED_AT - SAVE_EVERY:
        raise RuntimeError(f"the requeued job begins at step {start}, and the last complete checkpoint is of step 6")
    for step in range(start + 1, STEPS + 1):
        inputs = torch.randn(16, 8, generator=torch.Generator().manual_seed(step))
        loss = nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        log.info("step %d loss %.4f", step, loss.item())
        if step % SAVE_EVERY == 0:
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
            save(state, step, fixed=fixed, killed=attempt == 0 and step == KILLED_AT)


def job(fixed: bool, attempt: int) -> None:
    """One attempt of the job, in a process of its own."""
    torch.set_num_threads(1)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s [rank0] %(levelname)s %(message)s")
    train(fixed, attempt)
    log.info("training finished")


def main() -> int:
    """Be the scheduler: start the job, and start it again when it was killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="save atomically, resume from the newest readable file")
    fixed = parser.parse_args().fixed
    FOLDER.mkdir()
    code = 1
    for attempt in (0, 1):
        process = multiprocessing.get_context("fork").Process(target=job, args=(fixed, attempt))
        process.start()
        process.join()
        code = process.exitcode or 0
        print(f"scheduler: attempt {attempt} ended with code {code}", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
