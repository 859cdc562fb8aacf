"""The loop begins at the epoch where the run was."""

import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def main(loader, epochs):
    model = DDP(torch.nn.Linear(4, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    state = torch.load("last.pt", map_location="cpu")
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    done, step = state["epoch"], state["step"]
    for epoch in range(done + 1, epochs):
        loader.sampler.set_epoch(epoch)
        for batch in loader:
            model(batch).mean().backward()
            optimizer.step()
            step += 1
    return step
