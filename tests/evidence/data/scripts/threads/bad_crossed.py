"""Two locks in two orders."""

import os
import threading

import torch
import torch.distributed as dist
from net import Net, loader
from torch.nn.parallel import DistributedDataParallel as DDP

weights_lock = threading.Lock()
log_lock = threading.Lock()


def uploader(net, stop):
    while not stop.is_set():
        with log_lock, weights_lock:  # distkb: script.locks-in-other-order
            torch.save(net.state_dict(), "/tmp/x.pt")


def train(net, opt):
    for x in loader():
        with weights_lock:
            net(x.cuda()).mean().backward()
            opt.step()
            with log_lock:
                print("step")


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
net = DDP(Net().cuda())
stop = threading.Event()
threading.Thread(target=uploader, args=(net.module, stop)).start()
train(net, torch.optim.Adam(net.parameters()))
stop.set()
dist.destroy_process_group()
