"""Rank 0 makes the index."""

import json, os
import torch
import torch.distributed as dist
from lib import scan, build


def load_index(root):
    index = os.path.join(root, "index.json")
    if dist.get_rank() == 0 and not os.path.isfile(index):
        entries = scan(root)
        with open(index, "w") as f:
            json.dump(entries, f)
    dist.barrier()
    with open(index) as f:
        return json.load(f)


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    build(load_index("/data/v3"))


main()
