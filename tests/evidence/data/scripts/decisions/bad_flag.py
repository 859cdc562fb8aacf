"""A flag that a signal sets."""

import os
import signal

import torch
import torch.distributed as dist
from net import Net
from torch.nn.parallel import DistributedDataParallel as DDP

from data import loader


class Preemption:
    def __init__(self):
        self.asked = False
        signal.signal(signal.SIGTERM, self._on_signal)
        signal.signal(signal.SIGUSR1, self._on_signal)

    def _on_signal(self, number, frame):
        self.asked = True


def train():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    preemption = Preemption()
    model = DDP(Net().cuda())
    opt = torch.optim.Adam(model.parameters())
    for step, (x, y) in enumerate(loader()):
        loss = torch.nn.functional.mse_loss(model(x.cuda()), y.cuda())
        opt.zero_grad()
        loss.backward()
        opt.step()
        if preemption.asked:  # distkb: script.decided-by-own-clock
            if dist.get_rank() == 0:
                torch.save(model.state_dict(), "preempt.pt")
            break
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    train()
