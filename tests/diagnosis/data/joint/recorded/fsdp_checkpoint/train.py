"""Shards a model with FSDP and saves it from the main process."""

import logging

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

log = logging.getLogger("train")


def save(model: nn.Module, path: str) -> None:
    state = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    torch.save(state, path)
    log.info("saved %s", path)


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
        if rank == 0 and step % 10 == 0:
            save(model, "model.pt")
        if step % 10 == 0:
            dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
