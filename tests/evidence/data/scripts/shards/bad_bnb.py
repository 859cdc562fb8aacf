import bitsandbytes as bnb
import os

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard

from nets import build


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    model = build().cuda()
    for layer in model.layers:
        fully_shard(layer)
    fully_shard(model)
    opt = bnb.optim.AdamW8bit(model.parameters(), lr=1e-4)  # distkb: script.optimizer-without-dtensor
    for batch in model.batches():
        model(batch).sum().backward()
        opt.step()
        opt.zero_grad()


main()
