"""A file is read without a wait."""

import torch, os
import torch.distributed as dist
from lib import Net, pretrain_stats


def main():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.barrier()
    if dist.get_rank() == 0:
        torch.save(pretrain_stats(), "stats.pt")
    stats = torch.load("stats.pt", map_location="cpu")  # distkb: script.read-before-written
    net = Net(stats).cuda()
    print(net)


main()
