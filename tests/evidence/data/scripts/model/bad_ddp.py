import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Linear(width, width)
        self.act = nn.ReLU()
        self.aux = nn.Linear(width, 3)  # distkb: script.layer-never-used

    def forward(self, x):
        return self.body(x).relu()


class Probe(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x):
        return x * self.scale


def main(loader, device):
    net = Net(16).to(device)
    probe = Probe().to(device)
    wrapped = DDP(net, device_ids=[device])
    params = list(wrapped.parameters())
    optimizer = torch.optim.AdamW(  # distkb: script.parameters-outside-ddp
        [{"params": wrapped.parameters()}, {"params": probe.parameters()}]
    )
    for x, y in loader:
        logits = net(x)  # distkb: script.forward-past-ddp
        loss = (logits - y).square().mean()
        loss.backward()
        optimizer.step()
    return params


def regularised(loader, net):
    model = DDP(net)
    for x, y in loader:
        penalty = model.module(x).mean()  # distkb: script.forward-past-ddp
        loss = (model(x) - y).square().mean() + penalty
        loss.backward()


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.text = nn.Linear(8, 8)
        self.vision = nn.Linear(8, 8)

    def forward(self, text, image):
        out = self.text(text)
        if image.numel() > 0:
            out = out + self.vision(image)  # distkb: script.layer-left-out
        return out


def mixed():
    model = Mixed().cuda()
    return DDP(model)
