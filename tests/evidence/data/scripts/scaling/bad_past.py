"""The optimizer steps itself."""

import os

import torch
import torch.distributed as dist
from net import Net
from torch.nn.parallel import DistributedDataParallel as DDP

from data import make_loader


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    net = DDP(Net().cuda())
    opt = torch.optim.AdamW(net.parameters())
    scaler = torch.cuda.amp.GradScaler()
    for x, y in make_loader():
        opt.zero_grad()
        with torch.cuda.amp.autocast():
            loss = torch.nn.functional.mse_loss(net(x.cuda()), y.cuda())
        scaler.scale(loss).backward()
        opt.step()  # distkb: script.step-past-scaler
        scaler.update()


main()
