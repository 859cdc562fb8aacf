"""Tensors where the group can send them, and as long everywhere."""

import torch
import torch.distributed as dist


def main(model, loader):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    total = torch.zeros(2, device="cuda")
    for batch in loader:
        total[0] += model(batch).mean()
        total[1] += 1
    dist.all_reduce(total)
    moved = torch.tensor([1.0]).cuda()
    dist.all_reduce(moved)
    scores = model(next(iter(loader)))
    every = [torch.empty_like(scores) for _ in range(dist.get_world_size())]
    dist.all_gather(every, scores)
    dist.destroy_process_group()
