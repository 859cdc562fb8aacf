import torch
from accelerate import Accelerator
from torch.nn.parallel import DistributedDataParallel as DDP


def views(net, loader):
    model = DDP(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for one, other in loader:
        left = model(one).square().mean()
        right = model(other).abs().mean()
        left.backward()
        right.backward()  # distkb: script.second-backward
        optimizer.step()
        optimizer.zero_grad()


def losses(model, batch):
    out = model(batch)
    return out.mean(), out.std()


def prepared(net, loader):
    accelerator = Accelerator()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    model, optimizer, loader = accelerator.prepare(net, optimizer, loader)
    for batch in loader:
        first, spread = losses(model, batch)
        accelerator.backward(first, retain_graph=True)
        accelerator.backward(spread)  # distkb: script.second-backward
        optimizer.step()
