import torch.distributed as dist
from torch.utils.data import DataLoader


def main(samples, model):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    mine = samples[rank::world_size]  # distkb: script.slice-by-rank
    loader = DataLoader(mine, batch_size=4)
    for batch in loader:
        model(batch).backward()
