"""The phase of averaging, under a name."""

import os
from contextlib import nullcontext

import torch
import torch.distributed as dist
from nets import LM
from torch.nn.parallel import DistributedDataParallel as DDP

from data import stream


def main(accumulate=4):
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    net = DDP(LM().cuda())
    opt = torch.optim.AdamW(net.parameters(), 1e-4)
    for step, ids in enumerate(stream()):
        sync = step % accumulate == 0
        with nullcontext() if sync else net.no_sync():  # distkb: script.averaged-at-other-step
            loss = net(ids.cuda()).loss / accumulate
            loss.backward()
        if (step + 1) % accumulate == 0:
            opt.step()
            opt.zero_grad()


main()
