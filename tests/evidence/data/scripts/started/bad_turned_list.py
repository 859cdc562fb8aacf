import torch.distributed as dist


class Grid:
    def __init__(self, width):
        self.row, self.column = divmod(dist.get_rank(), width)


def share(buffers, grid):
    jobs = list(buffers)
    if grid.row % 2:
        jobs.reverse()
    for buffer, group in jobs:
        dist.all_reduce(buffer, group=group)  # distkb: script.order-by-rank


def main(buffers):
    dist.init_process_group("nccl")
    share(buffers, Grid(4))
