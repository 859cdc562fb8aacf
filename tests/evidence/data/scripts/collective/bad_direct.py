import torch
import torch.distributed as dist


def log_loss(loss):
    if dist.get_rank() == 0:
        dist.all_reduce(loss)  # distkb: script.collective-on-some-ranks
        print(loss.item())


def finish(args):
    if args.local_rank in [-1, 0] and args.save:
        torch.save({}, args.path)
        dist.barrier()  # distkb: script.collective-on-some-ranks


def others(rank):
    if rank > 0:
        dist.broadcast(torch.zeros(1), 0)  # distkb: script.collective-on-some-ranks
    else:
        print("ready")
