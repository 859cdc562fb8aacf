import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


class Contrast(torch.nn.Module):
    def forward(self, z, labels):
        pairs = labels[:, None] == labels[None, :]
        if pairs.sum() <= len(labels):  # distkb: script.own-calls-by-own-batch
            return z.sum() * 0
        every = [torch.empty_like(z) for _ in range(dist.get_world_size())]
        dist.all_gather(every, z)
        return (z @ torch.cat(every).T).mean()


def main(loader):
    dist.init_process_group("gloo")
    model, contrast = DDP(torch.nn.Linear(4, 4)), Contrast()
    for x, labels in loader:
        contrast(model(x), labels).backward()
    dist.destroy_process_group()
