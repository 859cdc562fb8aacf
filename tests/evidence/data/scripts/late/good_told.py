"""The timeout is told first; weights go to the CPU; what is saved is read."""

from datetime import timedelta

import torch
from accelerate import Accelerator, InitProcessGroupKwargs
from torch.distributed.elastic.multiprocessing.errors import record


@record
def main(net, loader, path):
    accelerator = Accelerator(kwargs_handlers=[InitProcessGroupKwargs(timeout=timedelta(hours=3))])
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    state = torch.load(path, map_location="cpu")
    net.load_state_dict(state["net"])
    optimizer.load_state_dict(state["optimizer"])
    net, optimizer, loader = accelerator.prepare(net, optimizer, loader)
    for batch in loader:
        accelerator.backward(net(batch).mean())
        optimizer.step()
        accelerator.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, path)
