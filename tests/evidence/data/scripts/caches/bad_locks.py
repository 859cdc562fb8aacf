"""Locks that are only a file."""

import os
import time

import torch.distributed as dist
from filelock import SoftFileLock


def prepare(cache, build):
    with SoftFileLock(cache + ".lock"):  # distkb: script.lock-outlives-process
        if not os.path.exists(cache):
            build(cache)
    dist.barrier()


def take(path):
    while True:
        try:
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)  # distkb: script.lock-outlives-process
            os.close(handle)
            return
        except FileExistsError:
            time.sleep(1)
