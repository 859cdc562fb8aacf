"""The group is made in a function before."""

import os

import torch
import torch.distributed as dist
from net import Net, prepare_all
from transformers import Trainer, TrainingArguments


def setup():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))


def main():
    setup()
    args = TrainingArguments("out", ddp_timeout=14400)  # distkb: script.timeout-after-group
    with args.main_process_first():
        data = prepare_all()
    Trainer(Net(), args, train_dataset=data).train()


main()
