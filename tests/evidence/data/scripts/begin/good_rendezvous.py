"""Groups that are made through a file that is new at every start, that is removed before, or that a caller names."""

import os
import tempfile
import time

import torch.distributed as dist


def by_job(args):
    job = os.environ["SLURM_JOB_ID"]
    dist.init_process_group("gloo", init_method=f"file:///shared/sync-{job}", rank=args.rank)
    dist.destroy_process_group()


def by_variable(rank):
    name = os.environ.get("RENDEZVOUS", "x")
    dist.init_process_group("gloo", init_method="file:///shared/" + name, rank=rank)


def temporary(world):
    file = tempfile.NamedTemporaryFile(delete=False)
    store = dist.FileStore(file.name, world)
    dist.init_process_group("gloo", store=store, rank=0, world_size=world)


def removed(args, rank):
    path = os.path.join(args.out, "sync")
    if rank == 0 and os.path.exists(path):
        os.remove(path)
    dist.init_process_group("gloo", init_method=f"file://{path}", rank=rank)


def given(path, rank):
    dist.init_process_group("gloo", init_method=f"file:///shared/{path}", rank=rank)


def chosen(args):
    dist.init_process_group("gloo", init_method=f"file://{args.sync_file}", rank=args.rank)


def begun(rank, started=time.time()):
    dist.init_process_group("gloo", init_method=f"file:///shared/{started}", rank=rank)


def over_network(rank):
    dist.init_process_group("gloo", init_method="tcp://host:1234", rank=rank)
