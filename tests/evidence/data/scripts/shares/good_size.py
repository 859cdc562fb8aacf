"""One split and one batch size."""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, random_split

from clips import Clips, Video


def build(args, rank):
    full = Clips(args.root)
    gen = torch.Generator().manual_seed(args.seed)
    n = int(0.9 * len(full))
    train, val = random_split(full, [n, len(full) - n], generator=gen)
    bs = args.batch_size
    return DataLoader(train, batch_size=bs, drop_last=True), DataLoader(val, batch_size=args.batch_size)


def main(args):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    train, val = build(args, rank)
    model = DistributedDataParallel(Video().cuda())
    for x, y in train:
        model(x.cuda(), y.cuda()).backward()
    dist.destroy_process_group()
