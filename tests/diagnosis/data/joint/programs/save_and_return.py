"""Trains a small model and saves it now and then; only the main process writes."""

import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

log = logging.getLogger("train")


def save_checkpoint(model: nn.Module, step: int) -> None:
    if dist.get_rank() != 0:
        return
    torch.save(model.state_dict(), f"step-{step}.pt")
    log.info("saved step %d", step)
    dist.barrier()


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    model = DistributedDataParallel(nn.Linear(16, 4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(1, 41):
        loss = model(torch.randn(8, 16)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0 and step % 2 == 0:
            log.info("step %d loss %.4f", step, loss.item())
        if step % 10 == 0:
            save_checkpoint(model.module, step)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
