"""Shards a model with FSDP; the main process shows what it generates now and then."""

import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

log = logging.getLogger("train")


@torch.no_grad()
def generate(model: nn.Module, count: int) -> str:
    model.eval()
    drawn = model(torch.randn(count, 32)).flatten()
    model.train()
    return " ".join(f"{value:.2f}" for value in drawn.tolist())


def main() -> None:
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1))
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for layer in (model[0], model[2], model):
        fully_shard(layer, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(1, 31):
        loss = model(torch.randn(8, 32)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0 and step % 2 == 0:
            log.info("step %d loss %.4f", step, loss.item())
        if step % 10 == 0:
            if rank == 0:
                log.info("generated: %s", generate(model, 4))
            dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
