"""D17: a DeepSpeed config that was written for eight GPUs is started on two.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]

DeepSpeed is not needed: `solve_batch` does the arithmetic of DeepSpeedConfig, with the ranks of the real process group.
"""

from __future__ import annotations

import argparse
import json
import logging
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

SAMPLES, WIDTH = 128, 8
log = logging.getLogger("train")


def user_config(fixed: bool) -> dict[str, object]:
    """Return the user's ds_config.json."""
    config: dict[str, object] = {
        "train_batch_size": 128,
        "train_micro_batch_size_per_gpu": 4,
        "gradient_accumulation_steps": 4,
        "gradient_clipping": 1.0,
        "bf16": {"enabled": True},
        "zero_optimization": {"stage": 2},
    }
    if fixed:
        # Two numbers are enough: the third follows from the number of ranks.
        del config["train_batch_size"]
    return config


def solve_batch(config: dict[str, object], world_size: int) -> tuple[int, int, int]:
    """Return train batch, micro batch and accumulation as DeepSpeedConfig settles them."""
    train, micro = config.get("train_batch_size"), config.get("train_micro_batch_size_per_gpu")
    steps = config.get("gradient_accumulation_steps")
    if train is None:
        steps = steps or 1
        train = micro * steps * world_size
    elif steps is None:
        steps = train // micro // world_size
    elif micro is None:
        micro = train // world_size // steps
    assert train == micro * steps * world_size, (
        "Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step * "
        f"world_size {train} != {micro} * {steps} * {world_size}"
    )
    return train, micro, steps


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="give micro batch and accumulation only")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=timedelta(seconds=15))
    rank, world_size = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    path = Path("ds_config.json")
    if rank == 0:
        path.write_text(json.dumps(user_config(fixed), indent=2))
    dist.barrier()
    train_batch, micro, accumulation = solve_batch(json.loads(path.read_text()), world_size)

    torch.manual_seed(0)
    data = TensorDataset(torch.randn(SAMPLES, WIDTH))
    sampler: DistributedSampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=micro, sampler=sampler)
    model = DistributedDataParallel(nn.Linear(WIDTH, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    seen = torch.zeros(1)
    for number, (inputs,) in enumerate(loader, start=1):
        loss = nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True)) / accumulation
        loss.backward()
        seen += len(inputs)
        if number % accumulation == 0:
            optimizer.step()
            optimizer.zero_grad()
            dist.all_reduce(seen)
            log.info("step %d loss %.4f samples in this step %d", number // accumulation, loss.item(), seen.item())
            assert seen.item() == train_batch, "the step saw another number of samples than train_batch_size"
            seen.zero_()
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
