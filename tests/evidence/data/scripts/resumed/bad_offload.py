import torch
import torch.distributed as dist
from torch.distributed.fsdp import CPUOffloadPolicy, fully_shard


def main(model, loader):
    dist.init_process_group("nccl")
    settings = {"offload_policy": CPUOffloadPolicy()}
    for layer in model.layers:
        fully_shard(layer, **settings)
    fully_shard(model, **settings)
    optimizer = torch.optim.AdamW(model.parameters())
    for batch in loader:
        model(batch).mean().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # distkb: script.offload-over-nccl
        optimizer.step()
