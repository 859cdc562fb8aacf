import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def train(loader, local):
    model = DDP(nn.Linear(8, 1).to(local), device_ids=[local])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    seen = torch.zeros(2, device=local)
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x.to(local)), y.to(local))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen += torch.stack([loss.detach(), torch.ones_like(loss)])
    dist.all_reduce(seen)
    return seen[0] / seen[1]
