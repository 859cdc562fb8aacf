"""Groups that are made through a file of the same name at every start."""

import os

import torch.distributed as dist

SHARED = "/shared/sync"


def plain(rank, world):
    dist.init_process_group("gloo", init_method="file:///shared/sync", rank=rank, world_size=world)  # distkb: script.rendezvous-file-stays
    dist.destroy_process_group()


def named(args):
    path = os.path.join(args.workdir, "rendezvous", args.name)
    method = f"file://{path}"
    dist.init_process_group("gloo", init_method=method, rank=args.rank)  # distkb: script.rendezvous-file-stays


def stored(rank, world):
    store = dist.FileStore(SHARED, world)  # distkb: script.rendezvous-file-stays
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world)


class Group:
    def __init__(self, folder="/shared"):
        self.file = folder + "/meet"

    def where(self):
        return self.file

    def begin(self, rank):
        dist.init_process_group("nccl", "file://" + self.where(), rank=rank)  # distkb: script.rendezvous-file-stays
