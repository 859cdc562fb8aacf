import torch.distributed as dist


def share(rows, columns, rank):
    order = [rows, columns] if rank % 2 == 0 else [columns, rows]
    for tensor in order:
        dist.broadcast(tensor, src=0)  # distkb: script.order-by-rank


def main(rows, columns):
    dist.init_process_group("nccl")
    share(rows, columns, dist.get_rank())
