"""State is loaded and its holder made again, or nothing is there to take it."""

import torch
from accelerate import Accelerator
from torch.nn.parallel import DistributedDataParallel


def main(model, loader, path):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    state = torch.load(path, map_location="cpu")
    optimizer.load_state_dict(state["optimizer"])
    model.load_state_dict(state["model"])
    model = DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)  # distkb: script.made-anew-after-restore
    for batch in loader:
        model(batch).mean().backward()
        optimizer.step()


def resume(accelerator, path):
    accelerator.load_state(path)


def prepared(model, loader, path):
    accelerator = Accelerator()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    resume(accelerator, path)  # distkb: script.state-loaded-before-prepare
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    return model, optimizer, loader


def direct(model, optimizer, path):
    accelerator = Accelerator(mixed_precision="bf16")
    if path:
        accelerator.load_state(path)  # distkb: script.state-loaded-before-prepare
    model, optimizer = accelerator.prepare(model, optimizer)
    return model, optimizer
