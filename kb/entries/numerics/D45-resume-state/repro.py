"""D45: the checkpoint holds the weights only, so the resumed run is another run: its loss jumps and its data repeats.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]

Nothing crashes by itself: the script trains once without a break and once with a stop in the middle, compares the
losses step by step, and stops where they differ. `--fixed` saves and restores everything the run consists of.
"""

from __future__ import annotations

import argparse
import io
import logging
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

STEPS, STOP = 12, 6
log = logging.getLogger("train")


class Run:
    """Model, optimizer, schedule and the place in the data: what a resumed run has to get back."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        inputs = torch.randn(96, 8)
        data = TensorDataset(inputs, inputs.sum(dim=1, keepdim=True))
        self.sampler: DistributedSampler = DistributedSampler(data, shuffle=True, seed=0)
        self.loader = DataLoader(data, batch_size=8, sampler=self.sampler)
        layers = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 1))
        self.model = DistributedDataParallel(layers)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.02)
        self.schedule = torch.optim.lr_scheduler.LinearLR(self.optimizer, 0.05, 1.0, total_iters=4)
        self.step = 0

    def state(self, fixed: bool) -> dict[str, Any]:
        """Return what goes into the checkpoint of this rank."""
        if not fixed:
            return {"model": self.model.module.state_dict()}
        return {
            "model": self.model.module.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "rng": torch.get_rng_state(),
            "step": self.step,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take over what the checkpoint holds."""
        self.model.module.load_state_dict(state["model"])
        if "step" in state:
            self.optimizer.load_state_dict(state["optimizer"])
            self.schedule.load_state_dict(state["schedule"])
            self.step = state["step"]
            torch.set_rng_state(state["rng"])

    def train(self, steps: int) -> list[float]:
        """Train some steps from where the run stands; return their losses."""
        losses: list[float] = []
        while len(losses) < steps:
            epoch, done = divmod(self.step, len(self.loader))
            self.sampler.set_epoch(epoch)
            rng = torch.get_rng_state()
            batches = list(self.loader)[done:]
            torch.set_rng_state(rng)  # making the loader's iterator draws from the generator
            for inputs, targets in batches[: steps - len(losses)]:
                loss = nn.functional.mse_loss(self.model(inputs), targets)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.schedule.step()
                self.step += 1
                losses.append(loss.item())
        return losses


def compare(fixed: bool) -> None:
    """Train without and with a break; raise where the second differs from the first."""
    unbroken = Run().train(STEPS)
    first = Run()
    losses = first.train(STOP)
    file = io.BytesIO()
    torch.save(first.state(fixed), file)
    file.seek(0)
    second = Run()
    second.restore(torch.load(file, weights_only=True))
    losses += second.train(STEPS - STOP)
    for step, (wanted, got) in enumerate(zip(unbroken, losses, strict=True), start=1):
        log.info("step %d loss %.4f, without a break %.4f", step, got, wanted)
    worst = max(abs(got - wanted) for wanted, got in zip(unbroken, losses, strict=True))
    if worst > 1e-6:
        raise RuntimeError(f"loss after the resume differs by up to {worst:.4f} from the run without a break")


def main() -> None:
    """Run one rank."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="save optimizer, schedule, random state and position too")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=timedelta(seconds=10))
    level = logging.INFO if dist.get_rank() == 0 else logging.WARNING
    logging.basicConfig(level=level, format=f"%(asctime)s [rank{dist.get_rank()}] %(levelname)s %(message)s")
    try:
        compare(fixed)
        log.info("training finished")
        dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
