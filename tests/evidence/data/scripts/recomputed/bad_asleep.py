"""Checkpointing in eval mode."""

import os

import torch
import torch.distributed as dist
from net import loader
from torch.nn.parallel import DistributedDataParallel as DDP
from transformers import AutoModelForCausalLM


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    model = AutoModelForCausalLM.from_pretrained("llama")
    model.gradient_checkpointing_enable()  # distkb: script.checkpointing-in-eval
    model.eval()
    net = DDP(model.cuda())
    opt = torch.optim.AdamW(net.parameters())
    for b in loader():
        net(**b).loss.backward()
        opt.step()
        opt.zero_grad()


main()
