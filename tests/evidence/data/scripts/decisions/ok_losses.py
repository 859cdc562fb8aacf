import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def averaged(losses):
    for name in sorted(losses):
        dist.all_reduce(losses[name])
    return losses


def in_one(batch, out):
    values = {"class": out[:, 0].mean(), "box": out.sum() * 0}
    if (batch["y"] > 0).any():
        values["box"] = out[:, 1].mean()
    together = torch.stack([values["class"], values["box"]]).detach()
    dist.all_reduce(together)
    return together


def main(loader, with_aux):
    dist.init_process_group("gloo")
    model = DDP(torch.nn.Linear(4, 2))
    for batch in loader:
        out = model(batch["x"])
        losses = {"class": out[:, 0].mean()}
        if with_aux:
            losses["aux"] = out[:, 1].mean()
        found = (batch["y"] > 0).sum()
        dist.all_reduce(found)
        if found > 0:
            averaged(losses)
        print(in_one(batch, out))
    dist.destroy_process_group()
