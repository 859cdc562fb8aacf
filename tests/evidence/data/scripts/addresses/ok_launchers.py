"""The address is the launcher's, however it is written."""

import os

import torch.distributed as dist


def setup():
    port = int(os.environ["MASTER_PORT"])
    url = f"tcp://{os.environ['MASTER_ADDR']}:{port}"
    dist.init_process_group("gloo", init_method=url, rank=int(os.environ["RANK"]), world_size=2)
    dist.destroy_process_group()


def client():
    return dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False)
