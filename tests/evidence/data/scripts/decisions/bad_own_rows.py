import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader


def evaluate(model, rows, rank, world):
    model.eval()
    seen = torch.zeros(2)
    for x, y in DataLoader(rows[rank::world], batch_size=8, drop_last=False):  # distkb: script.evaluated-by-own-part
        hits = torch.stack([(model(x).argmax(1) == y).sum(), torch.tensor(len(y))])
        dist.all_reduce(hits)
        seen += hits
    return seen[0] / seen[1]


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    model = DDP(torch.nn.Linear(3, 2))
    print(evaluate(model.module, torch.load("rows.pt"), rank, world))
    dist.destroy_process_group()
