"""D31: the leaders make a group of their own that the other ranks never make, and the next group has two names.

torchrun --standalone --nproc-per-node 3 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import logging
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn

TIMEOUT = timedelta(seconds=4)
LEADERS = [0, 2]
STEPS = 3

log = logging.getLogger("train")


def make_leader_group(rank: int, *, fixed: bool) -> dist.ProcessGroup | None:
    """The group in which the first rank of each pair averages the metrics."""
    if fixed:
        # Every rank makes every group, members or not.
        group = dist.new_group(LEADERS, timeout=TIMEOUT)
        return group if rank in LEADERS else None
    if rank in LEADERS:
        return dist.new_group(LEADERS, timeout=TIMEOUT)
    return None


def train(model: nn.Module, leaders: dist.ProcessGroup | None, rank: int) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(1, STEPS + 1):
        inputs = torch.randn(8, 4, generator=torch.Generator().manual_seed(10 * step + rank))
        loss = nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()
        optimizer.step()
        optimizer.zero_grad()
        if leaders is not None:
            mean = loss.detach() / len(LEADERS)
            dist.all_reduce(mean, group=leaders)
            log.info("step %d mean loss %.4f", step, mean.item())


def save(model: nn.Module) -> None:
    """Makes a group with a long timeout for the checkpoint, and waits in it while rank 0 writes."""
    log.info("making the checkpoint group")
    group = dist.new_group(timeout=TIMEOUT)
    if dist.get_rank() == 0:
        torch.save(model.state_dict(), "model.pt")
    dist.barrier(group=group)
    log.info("checkpoint saved")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="every rank makes the leaders' group")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=TIMEOUT)
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    leaders = make_leader_group(rank, fixed=fixed)
    train(model, leaders, rank)
    save(model)
    log.info("training finished")
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
