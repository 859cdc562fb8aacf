"""D60: all ranks of the node sit on one core, and start threads and loader workers for a whole machine.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import logging
import os
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, DistributedSampler

WIDTH, STEPS = 96, 16
log = logging.getLogger("train")


class Decoded(Dataset):
    """Samples that cost the CPU something, as decoding an image does."""

    def __len__(self) -> int:
        return STEPS * 64

    def __getitem__(self, index: int) -> torch.Tensor:
        generator = torch.Generator().manual_seed(index)
        sample = torch.randn(WIDTH, WIDTH, generator=generator)
        return torch.linalg.matrix_exp(sample / WIDTH).mean(dim=0)


def take_cores(local_rank: int, fixed: bool) -> list[int]:
    """Return the cores that this rank may use, after the job script had its say."""
    cores = sorted(os.sched_getaffinity(0))
    ranks = int(os.environ["LOCAL_WORLD_SIZE"])
    # Broken: a job that asked for one task and one core; what it starts inherits that core.
    mine = (cores[local_rank::ranks] or cores) if fixed else cores[:1]
    os.sched_setaffinity(0, mine)
    return mine


def train(workers: int) -> None:
    model = DistributedDataParallel(nn.Sequential(nn.Linear(WIDTH, 256), nn.ReLU(), nn.Linear(256, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    data = Decoded()
    loader = DataLoader(data, batch_size=32, sampler=DistributedSampler(data), num_workers=workers)
    begin = last = time.perf_counter()
    waited = 0.0
    for step, inputs in enumerate(loader, start=1):
        waited += time.perf_counter() - last
        loss = nn.functional.mse_loss(model(inputs), inputs.sum(dim=1, keepdim=True))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        last = time.perf_counter()
        if step % 8 == 0:
            log.info("step %d loss %.4f", step, loss.item())
    spent = last - begin
    log.info("%.0f samples/s, data %.2f s, steps %.2f s", STEPS * 32 / spent, waited, spent - waited)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="divide the cores among the ranks")
    fixed = parser.parse_args().fixed
    rank, local_rank = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    mine = take_cores(local_rank, fixed)
    # Broken: the numbers that suit the 32-core machine of somebody else.
    threads, workers = (len(mine), len(mine)) if fixed else (8, 4)
    torch.set_num_threads(threads)
    dist.init_process_group("gloo", timeout=timedelta(seconds=40))

    # Every rank says what it takes from which cores.
    wishes: list[tuple[list[int], int] | None] = [None] * dist.get_world_size()
    dist.all_gather_object(wishes, (mine, threads + workers))
    cores = {core for share, _ in wishes for core in share}
    wanted = sum(count for _, count in wishes)
    log.info("rank %d: cores %s, %d threads, %d loader workers", rank, mine, threads, workers)
    train(workers)
    if wanted > 4 * len(cores):
        message = f"{wanted} threads and workers share {len(cores)} core(s)"
        raise RuntimeError(message)
    log.info("training finished")
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
