"""D66: a pipeline of two stages gets its batch as one microbatch.

torchrun --standalone --nproc-per-node 2 repro.py [--fixed]
"""

from __future__ import annotations

import argparse
import logging
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

TIMEOUT = timedelta(seconds=6)
STEPS = 3
BATCH, WIDTH = 8, 16

log = logging.getLogger("train")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="cut the batch into at least as many parts as stages")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=TIMEOUT)
    rank, stages = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(message)s")
    torch.manual_seed(rank)
    part = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh())
    stage = PipelineStage(part, rank, stages, torch.device("cpu"))
    log.info("stage %d of %d has %d layers", rank, stages, len(part))
    schedule = Schedule1F1B(stage, n_microbatches=2 * stages if fixed else 1, loss_fn=nn.functional.mse_loss)
    optimizer = torch.optim.SGD(part.parameters(), lr=0.1)
    inputs, target = torch.randn(BATCH, WIDTH), torch.zeros(BATCH, WIDTH)
    for step in range(1, STEPS + 1):
        optimizer.zero_grad()
        losses: list[torch.Tensor] = []
        if rank == 0:
            schedule.step(inputs)
        else:
            schedule.step(target=target, losses=losses)
            log.info("step %d loss %.4f", step, torch.stack(losses).mean().item())
        optimizer.step()
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
