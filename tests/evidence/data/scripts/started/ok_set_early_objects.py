import os

import torch
import torch.distributed as dist


def main():
    local = int(os.environ["LOCAL_RANK"])
    dist.init_process_group("nccl", device_id=torch.device("cuda", local))
    names = [os.uname().nodename]
    dist.broadcast_object_list(names, src=0)
    torch.cuda.set_device(local)
    dist.destroy_process_group()
