"""Locks that end with their process, or a wait that ends."""

import os
import time

import torch.distributed as dist
from filelock import FileLock, SoftFileLock


def prepare(cache, build):
    with FileLock(cache + ".lock"):
        if not os.path.exists(cache):
            build(cache)
    with SoftFileLock(cache + ".soft", timeout=600):
        build(cache)
    dist.barrier()


def take(path, timeout):
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        try:
            return os.open(path, os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            time.sleep(1)
    raise TimeoutError(path)


def first_run(path):
    with open(path, "x") as file:
        file.write("started")
