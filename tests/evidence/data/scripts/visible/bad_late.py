"""The GPUs are hidden when the model is on one."""

import os

import torch
import torch.distributed as dist


def main(net):
    dist.init_process_group("nccl")
    net = net.to("cuda:0")
    os.environ["CUDA_VISIBLE_DEVICES"] = "2,3"  # distkb: script.gpus-hidden-late
    dist.destroy_process_group()
    return net


def spread(net):
    torch.cuda.set_device(0)
    os.environ["CUDA_VISIBLE_DEVICES"] = "1"  # distkb: script.gpus-hidden-late
    return net.cuda()
