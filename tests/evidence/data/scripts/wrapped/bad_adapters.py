"""Adapters in the one unit."""

import os

import torch
import torch.distributed as dist
from net import Net, loader
from peft import LoraConfig, get_peft_model
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    model = get_peft_model(Net(), LoraConfig(r=8))
    model = FSDP(model, device_id=torch.cuda.current_device())  # distkb: script.frozen-and-trained-in-unit
    opt = torch.optim.AdamW(model.parameters())
    for x in loader():
        model(x.cuda()).loss.backward()
        opt.step()


main()
