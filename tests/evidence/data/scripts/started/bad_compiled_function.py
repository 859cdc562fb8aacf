import torch
import torch.distributed as dist


@torch.compile(dynamic=False)
def loss_of(model, x):
    out = model(x)
    return out.mean() if dist.get_rank() else out.float().mean()  # distkb: script.compiled-by-rank


def main(model, loader):
    dist.init_process_group("nccl")
    for x in loader:
        loss_of(model, x).backward()
    dist.destroy_process_group()
