import torch
import torch.distributed as dist


def download(rank, url):
    if rank != 0:
        dist.barrier()
    data = open(url).read()
    if rank == 0:
        dist.barrier()
    return data


def load_examples(args, evaluate=False):
    if args.local_rank not in [-1, 0] and not evaluate:
        torch.distributed.barrier()
    examples = torch.load(args.path)
    if args.local_rank == 0 and not evaluate:
        torch.distributed.barrier()
    return examples


def main(args):
    if args.local_rank in [-1, 0]:
        load_examples(args, evaluate=True)


def same_on_both(rank, x):
    if rank == 0:
        dist.broadcast(x, src=0)
    else:
        x = torch.empty(2)
        dist.broadcast(x, src=0)
    parts = [torch.empty(2) for _ in range(2)]
    if rank == 0:
        dist.gather(x, parts, dst=0)
    else:
        dist.gather(x, dst=0)
