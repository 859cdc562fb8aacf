"""Updates by the scaler, and precision that needs none."""

import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def scaled(model, loader):
    optimizer, scaler = torch.optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler("cuda")
    for batch in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(batch).mean()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


def main(loader):
    scaled(DDP(torch.nn.Linear(4, 1)), loader)
