"""D19: two ranks combine the same metrics in a different order; DETAIL makes torch name the mismatch.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import logging
import os
from datetime import timedelta

os.environ["TORCH_DISTRIBUTED_DEBUG"] = "DETAIL"  # is read when torch.distributed is imported

import torch
import torch.distributed as dist
from torch import nn

TIMEOUT = timedelta(seconds=6)
STEPS = 6
REPORT_EVERY = 3
TASKS = ("caption", "retrieval")

log = logging.getLogger("train")


def task_of(step: int, rank: int) -> str:
    """Return the task of this rank's batch; the shards of the ranks begin with different tasks."""
    return TASKS[(step + rank) % 2]


def average_gradients(model: nn.Module) -> None:
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()


def gather_scores(score: torch.Tensor) -> torch.Tensor:
    scores = [torch.empty_like(score) for _ in range(dist.get_world_size())]
    dist.all_gather(scores, score)
    return torch.stack(scores).max()


def sum_scores(score: torch.Tensor) -> torch.Tensor:
    total = score.clone()
    dist.all_reduce(total)
    return total


COMBINE = {"caption": sum_scores, "retrieval": gather_scores}


def report(scores: dict[str, torch.Tensor], fixed: bool) -> dict[str, float]:
    """Return the score of every task over all ranks."""
    # A dict is in insertion order, and the tasks came in another order on each rank.
    return {task: COMBINE[task](scores[task]).item() for task in (sorted(scores) if fixed else scores)}


def train(fixed: bool) -> None:
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scores: dict[str, torch.Tensor] = {}
    for step in range(1, STEPS + 1):
        task = task_of(step, rank)
        inputs = torch.randn(8, 4)
        loss = model(inputs).square().mean()
        loss.backward()
        average_gradients(model)
        optimizer.step()
        optimizer.zero_grad()
        scores[task] = loss.detach()
        log.info("step %d task %s loss %.4f", step, task, loss.item())
        if step % REPORT_EVERY == 0:
            log.info("step %d scores %s", step, report(scores, fixed))
    log.info("training finished")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="combine the metrics in sorted order")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=TIMEOUT)
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{dist.get_rank()}] %(levelname)s %(message)s")
    train(fixed)
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
