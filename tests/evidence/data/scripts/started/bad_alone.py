import os

import torch
from torch.utils.data import DataLoader


def main(data, net):
    rank = int(os.environ["RANK"])  # distkb: script.trains-alone
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    model = net.cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in DataLoader(data, 32, shuffle=True):
        loss = (model(x.cuda()) - y.cuda()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if rank == 0:
        torch.save(model.state_dict(), "last.pt")
