import os
import time

import torch
import torch.distributed as dist
from accelerate.data_loader import prepare_data_loader
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler


def mean(value):
    tensor = torch.tensor(value)
    dist.all_reduce(tensor)
    return tensor.item() / dist.get_world_size()


@torch.no_grad()
def evaluate(model, loader):
    total = 0.0
    for batch in loader:
        total += model(batch).sum().item()
    return mean(total)


def main(data, held_out, model, optimizer, args):
    model = DDP(model)
    sampler = DistributedSampler(data, rank=dist.get_rank())
    loader = DataLoader(data, sampler=sampler, batch_size=args.batch_size)
    best, bad, start = float("inf"), 0, 0
    if os.path.exists(args.checkpoint):
        state = torch.load(args.checkpoint)
        start = state["epoch"]
    began = time.time()
    for epoch in range(start, args.epochs):
        sampler.set_epoch(epoch)
        for step, batch in enumerate(loader):
            loss = model(batch).sum()
            loss.backward()
            if (step + 1) % args.accumulate == 0:
                optimizer.step()
            if step % 10 == 0:
                print(step, loss.item(), time.time() - began)
        val_loss = evaluate(model, held_out)
        if val_loss < best:
            best, bad = val_loss, 0
        else:
            bad += 1
        if bad >= args.patience:
            break
        late = torch.tensor(float(time.time() - began > args.budget))
        dist.all_reduce(late, op=dist.ReduceOp.MAX)
        if late.item():
            break


def prepared(model, data, device):
    loader = prepare_data_loader(DataLoader(data), device, dist.get_world_size(), dist.get_rank())
    for batch in loader:
        dist.all_reduce(model(batch))
