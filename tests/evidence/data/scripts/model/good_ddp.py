import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Linear(width, width)
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(width, 3)

    def forward(self, x):
        return self.head(self.body(x))


def main(loader, held_out, device):
    net = Net(16).to(device)
    model = DDP(net)
    optimizer = torch.optim.AdamW(model.parameters())
    for x, y in loader:
        loss = (model(x) - y).square().mean()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        for x, y in held_out:
            print((net(x) - y).square().mean())
    return net
