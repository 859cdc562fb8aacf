"""D30: all_gather of predictions that are padded to another length on each rank.

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
STEPS = 3
PAD = -100

log = logging.getLogger("train")


def predictions(rank: int) -> torch.Tensor:
    """Return token ids (batch 4, length), padded to the longest sample of this rank's batch."""
    length = 12 + 4 * rank
    return torch.arange(4 * length).reshape(4, length)


def gather(tokens: torch.Tensor, fixed: bool) -> torch.Tensor:
    """Return the predictions of all ranks, one below the other."""
    if fixed:
        length = torch.tensor(tokens.shape[1])
        dist.all_reduce(length, op=dist.ReduceOp.MAX)
        tokens = nn.functional.pad(tokens, (0, int(length) - tokens.shape[1]), value=PAD)
    gathered = [torch.empty_like(tokens) for _ in range(dist.get_world_size())]
    # Wants the same shape and dtype on every rank.
    dist.all_gather(gathered, tokens)
    return torch.cat(gathered)


def train(fixed: bool) -> None:
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(1, STEPS + 1):
        loss = model(torch.randn(8, 4)).square().mean()
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
            parameter.grad /= dist.get_world_size()
        optimizer.step()
        optimizer.zero_grad()
        log.info("step %d loss %.4f", step, loss.item())
    tokens = predictions(rank)
    log.info("evaluation: predictions of shape %s", tuple(tokens.shape))
    log.info("evaluation: gathered %s", tuple(gather(tokens, fixed).shape))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true", help="pad to the longest prediction of all ranks")
    fixed = parser.parse_args().fixed
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=TIMEOUT)
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{dist.get_rank()}] %(levelname)s %(message)s")
    train(fixed)
    dist.monitored_barrier()  # gives gloo's threads time to let go of the last tensors: pytorch#190489
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
