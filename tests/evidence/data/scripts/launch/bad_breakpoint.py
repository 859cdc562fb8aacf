"""A breakpoint that only one rank may come to."""

import torch.distributed as dist


def train(model, loader):
    dist.init_process_group("gloo")
    for batch in loader:
        loss = model(batch).mean()
        if loss.item() > 100:
            breakpoint()  # distkb: script.breakpoint-left
        loss.backward()
    dist.destroy_process_group()
