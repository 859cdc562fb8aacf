"""D59: the schedule is as long as the prepared loader, and Accelerate steps it once per process.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
Nothing fails by itself: the script checks where the learning rate reaches zero.
"""

from __future__ import annotations

import argparse
import logging

import torch
from accelerate import Accelerator
from torch import nn
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, TensorDataset

EPOCHS, SAMPLES, BATCH, WARMUP = 2, 128, 8, 4

log = logging.getLogger("train")


def linear_schedule(optimizer: torch.optim.Optimizer, warmup: int, total: int) -> LambdaLR:
    """Warm up for `warmup` scheduler steps, then go down to zero at step `total`."""
    return LambdaLR(optimizer, lambda step: min((step + 1) / warmup, max(0.0, (total - step) / (total - warmup))))


def train(accelerator: Accelerator, fixed: bool) -> None:
    torch.manual_seed(0)
    inputs = torch.randn(SAMPLES, 8)
    loader = DataLoader(TensorDataset(inputs, inputs.sum(1, keepdim=True)), batch_size=BATCH, shuffle=True)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    # The prepared loader holds this process's share of the batches.
    steps = EPOCHS * len(loader)
    per_step = accelerator.num_processes if fixed else 1
    scheduler = accelerator.prepare(linear_schedule(optimizer, WARMUP * per_step, steps * per_step))
    step = 0
    for epoch in range(EPOCHS):
        for x, y in loader:
            step += 1
            loss = nn.functional.mse_loss(model(x), y)
            accelerator.backward(loss)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
            rate = scheduler.get_last_lr()[0]
            if accelerator.is_main_process:
                log.info("epoch %d step %d/%d loss %.4f lr %.2e", epoch, step, steps, loss.item(), rate)
            if rate == 0.0 and step < steps:
                raise RuntimeError(f"the learning rate reached 0 at step {step} of {steps}: the schedule is too short")
    log.info("training finished")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="count the schedule in steps of all processes")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True)
    name = f"rank{accelerator.process_index}"
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [{name}] %(levelname)s %(message)s")
    try:
        train(accelerator, fixed)
        torch.distributed.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    finally:
        accelerator.end_training()


if __name__ == "__main__":
    main()
