import torch
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP


class Run:
    def __init__(self, net):
        self.model = DDP(net)
        self.optimizer = torch.optim.AdamW(self.model.parameters())

    def step(self, x):
        y, mu = self.model(x)
        recon = F.mse_loss(y, x)
        prior = mu.square().mean()
        self.optimizer.zero_grad()
        recon.backward(retain_graph=True)
        prior.backward()  # distkb: script.second-backward
        self.optimizer.step()


def tasks(net, loader, heads):
    model = DDP(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, targets in loader:
        shared = model(x)
        optimizer.zero_grad()
        for head, target in zip(heads, targets, strict=True):
            F.cross_entropy(head(shared), target).backward(retain_graph=True)  # distkb: script.second-backward
        optimizer.step()
