import torch
import torch.distributed as dist


def load(path, shape):
    if not path.exists():  # distkb: script.decided-by-own-files
        table = torch.randn(shape)
        dist.broadcast(table, 0)
        torch.save(table, path)
    return torch.load(path)
