"""One seed: every rank draws the same numbers and takes its part of them."""

import torch
import torch.distributed as dist
from net import Net
from torch.nn.parallel import DistributedDataParallel


def main(args, data):
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(args.seed)
    model = DistributedDataParallel(Net())
    opt = torch.optim.AdamW(model.parameters())
    for step in range(args.steps):
        chosen = torch.randint(len(data), (args.batch * world,))
        mine = data[chosen[rank::world]]
        model(mine).mean().backward()
        opt.step()
        opt.zero_grad()
