"""Parts of one order, the same on all ranks; the rank's number is there for the messages only."""

import torch
import torch.distributed as dist
from net import Net
from torch.nn.parallel import DistributedDataParallel


def fit(cfg, inputs, targets):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)  # distkb: script.one-seed-draws-batches
    model = DistributedDataParallel(Net())
    opt = torch.optim.AdamW(model.parameters())
    for epoch in range(cfg.epochs):
        order = torch.randperm(len(inputs))
        for start in range(0, len(inputs), cfg.batch):
            chosen = order[start : start + cfg.batch]
            loss = model(inputs[chosen], targets[chosen])
            loss.backward()
            opt.step()
            opt.zero_grad()
            print(f"rank {rank} loss {loss.item():.3f}")
