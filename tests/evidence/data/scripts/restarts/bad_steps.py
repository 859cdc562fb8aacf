"""The number of steps alone goes on."""

import os

import torch
import torch.distributed as dist
from net import Data, Net
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    net = DDP(Net().cuda())
    opt = torch.optim.AdamW(net.parameters())
    data = Data()
    sampler = DistributedSampler(data)
    loader = DataLoader(data, 16, sampler=sampler)
    step = 0
    if os.path.exists("last.pt"):
        state = torch.load("last.pt", map_location="cpu")
        net.load_state_dict(state["net"])
        opt.load_state_dict(state["opt"])
        step = state["step"]
    for epoch in range(10):  # distkb: script.data-starts-over
        sampler.set_epoch(epoch)
        for x, y in loader:
            opt.zero_grad()
            torch.nn.functional.mse_loss(net(x.cuda()), y.cuda()).backward()
            opt.step()
            step += 1
            if step % 1000 == 0 and dist.get_rank() == 0:
                torch.save(
                    {"net": net.state_dict(), "opt": opt.state_dict(), "step": step},
                    "last.pt",
                )


main()
