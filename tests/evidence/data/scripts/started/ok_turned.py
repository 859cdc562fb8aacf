import torch.distributed as dist


def ring(tensors, rank):
    order = ["send", "recv"] if rank % 2 == 0 else ["recv", "send"]
    for what in order:
        if what == "send":
            dist.send(tensors[0], dst=rank + 1)
        else:
            dist.recv(tensors[1], src=rank - 1)


def share(buffers, backwards):
    jobs = list(buffers)
    if backwards:
        jobs.reverse()
    for buffer in jobs:
        dist.all_reduce(buffer)
    for buffer in sorted(buffers, key=len, reverse=True):
        dist.all_reduce(buffer)


def main(tensors, epoch):
    dist.init_process_group("nccl")
    ring(tensors, dist.get_rank())
    share(tensors, epoch % 2 == 1)
