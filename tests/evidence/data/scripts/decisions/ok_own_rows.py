import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def behind_loop(model, rows, rank, world):
    model.eval()
    seen = torch.zeros(2)
    for x, y in DataLoader(rows[rank::world], batch_size=8):
        seen += torch.stack([(model(x).argmax(1) == y).sum(), torch.tensor(len(y))])
    dist.all_reduce(seen)
    return seen[0] / seen[1]


def padded(model, rows):
    model.eval()
    for x, y in DataLoader(rows, batch_size=8, sampler=DistributedSampler(rows, shuffle=False)):
        hits = (model(x).argmax(1) == y).sum()
        dist.all_reduce(hits)
        yield hits


def equal_parts(model, rows, rank, world):
    most = torch.tensor(-(-len(rows) // world))
    own = rows[rank::world]
    with torch.no_grad():
        for index in range(most.item()):
            hits = model(own[index]) if index < len(own) else torch.zeros(1)
            dist.all_reduce(hits)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    model, rows = DDP(torch.nn.Linear(3, 2)), torch.load("rows.pt")
    behind_loop(model.module, rows, rank, world)
    equal_parts(model.module, rows, rank, world)
    print(list(padded(model.module, rows)))
