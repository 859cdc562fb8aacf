"""Learns two tasks; the score of each is averaged over all ranks in a process group of its own."""

import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

log = logging.getLogger("train")
TASKS = ("caption", "retrieval")


def task_of(step: int, rank: int) -> str:
    return TASKS[(step + rank) % 2]


def caption_score(score: float, group: dist.ProcessGroup) -> float:
    total = torch.tensor([score])
    dist.all_reduce(total, group=group)
    return total.item() / dist.get_world_size()


def retrieval_score(score: float, group: dist.ProcessGroup) -> float:
    worst = torch.tensor([score])
    dist.all_reduce(worst, op=dist.ReduceOp.MAX, group=group)
    return worst.item()


COMBINE = {"caption": caption_score, "retrieval": retrieval_score}


def report(scores: dict[str, float], groups: dict[str, dist.ProcessGroup]) -> dict[str, float]:
    return {task: COMBINE[task](score, groups[task]) for task, score in scores.items()}


def main() -> None:
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    groups = {task: dist.new_group(list(range(world))) for task in TASKS}
    model = DistributedDataParallel(nn.Linear(8, 1))
    report(dict.fromkeys(TASKS, 0.0), groups)  # makes the connections
    scores: dict[str, float] = {}
    for step in range(1, 21):
        loss = model(torch.randn(4, 8)).square().mean()
        loss.backward()
        model.zero_grad()
        scores[task_of(step, rank)] = loss.item()
        if rank == 0:
            log.info("step %d loss %.4f", step, loss.item())
        if step % 4 == 0:
            shown = report(scores, groups)
            log.info("scores %s", shown)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
