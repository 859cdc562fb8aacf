"""A mark that says that something else is done is whole as soon as it is there."""

import os
import time

import torch
import torch.distributed as dist


def features(folder, build):
    path, done = os.path.join(folder, "features.pt"), os.path.join(folder, "features.done")
    if dist.get_rank() == 0:
        torch.save(build(), path)
        open(done, "w").close()
    while not os.path.exists(done):
        time.sleep(0.5)
    return torch.load(path)


def prepared(folder, build):
    ready = os.path.join(folder, "ready")
    if dist.get_rank() == 0:
        build()
        with open(ready, "w") as mark:
            mark.write("ok")
    while not os.path.exists(ready):
        time.sleep(0.5)
