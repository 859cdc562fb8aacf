import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def accumulated(net, loader):
    model = DDP(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for one, other in loader:
        with model.no_sync():
            model(one).mean().backward(retain_graph=True)
        model(other).mean().backward()
        optimizer.step()
