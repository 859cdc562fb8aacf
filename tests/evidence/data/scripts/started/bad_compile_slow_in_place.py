from datetime import timedelta

import torch.distributed as dist

WAIT = timedelta(seconds=90)


def main(net, x):
    dist.init_process_group(backend="nccl", timeout=WAIT)  # distkb: script.compile-past-timeout
    net.compile()
    net(x).sum().backward()
    dist.destroy_process_group()
