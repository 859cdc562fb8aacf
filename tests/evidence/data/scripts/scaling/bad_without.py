"""fp16 without a scaler."""

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
    opt = torch.optim.AdamW(net.parameters(), 1e-4)
    for x, y in make_loader():
        opt.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):  # distkb: script.fp16-without-scaler
            loss = torch.nn.functional.mse_loss(net(x.cuda()), y.cuda())
        loss.backward()
        opt.step()


main()
