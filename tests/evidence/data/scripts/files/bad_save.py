import os
import time

import torch
from torch.nn.parallel import DistributedDataParallel as DDP


def main(net, epochs):
    model = DDP(net)
    out = f"runs/{time.strftime('%H%M%S')}"
    os.makedirs(out)  # distkb: script.own-directory-per-rank
    for epoch in range(epochs):
        model(epoch)
        torch.save(model.state_dict(), "last.pt")  # distkb: script.save-on-every-rank
