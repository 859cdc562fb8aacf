import torch
import torch.distributed as dist


def log(loss, rank):
    dist.all_reduce(loss)
    if rank == 0:
        print(loss.item())


def loop(loader, rank):
    for step, batch in enumerate(loader):
        if rank != 0:
            continue
        print(step, batch)
    dist.barrier()


def save(model, rank):
    state = model.state_dict()
    if rank == 0:
        torch.save(state, "model.pt")
    dist.barrier()
