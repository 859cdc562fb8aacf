"""A second phase has an optimizer of its own, and the statistics are saved beside the parameters."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def two_phases(model, batches, path, refine):
    model = DistributedDataParallel(nn.Sequential(model, nn.BatchNorm1d(8)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    state = torch.load(path, map_location="cpu")
    optimizer.load_state_dict(state["optimizer"])
    for batch in batches:
        model(batch).mean().backward()
        optimizer.step()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for batch in batches[:refine]:
        model(batch).mean().backward()
        optimizer.step()
    return optimizer


def adapters(model, path):
    torch.save({n: p for n, p in model.named_parameters() if p.requires_grad}, path)
    model.load_state_dict(torch.load(path), strict=False)
