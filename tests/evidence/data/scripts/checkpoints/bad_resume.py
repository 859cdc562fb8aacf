"""What a resumed run drops without a word."""

import random

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def train(net, optimizer, path, epochs):
    dist.init_process_group("gloo")
    state = torch.load(path)
    net.load_state_dict(state["model"], strict=False)  # distkb: script.wrapper-keys-dropped
    optimizer.load_state_dict(state["optimizer"])
    start_epoch = state["epoch"] + 1
    first_step = state["step"]  # distkb: script.restored-counter-unused
    next_epoch = state["epoch"] + 1  # distkb: script.restored-counter-unused
    torch.set_rng_state(state["rng"])  # distkb: script.one-random-state-for-all
    random.setstate(state["python"])
    model = DistributedDataParallel(net)
    for epoch in range(start_epoch, epochs):
        model(torch.ones(1))
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
        if dist.get_rank() == 0:
            torch.save(state, path)
    dist.destroy_process_group()
