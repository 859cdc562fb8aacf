"""Rank 0's random state, kept among others in one file, is given to all after they had seeds of their own."""

import random

import torch
import torch.distributed as dist


def save(path, model):
    state = {"model": model.state_dict(), "rng": {"python": random.getstate(), "torch": torch.get_rng_state()}}
    if dist.get_rank() == 0:
        torch.save(state, path)


def resume(path, model):
    state = torch.load(path, weights_only=False)
    model.load_state_dict(state["model"])
    random.setstate(state["rng"]["python"])  # distkb: script.one-random-state-for-all
    torch.set_rng_state(state["rng"]["torch"])


def main(args, model, optimizer, loader):
    dist.init_process_group("gloo")
    torch.manual_seed(args.seed + dist.get_rank())
    resume(args.path, model)
    for batch in loader:
        model(batch).sum().backward()
        optimizer.step()
    save(args.path, model)
