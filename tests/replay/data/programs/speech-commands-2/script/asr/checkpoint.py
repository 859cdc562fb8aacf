import os

import torch
import torch.distributed as dist


class CheckpointManager:
    def __init__(self, folder, keep=2):
        self.folder, self.keep, self.files = folder, keep, []
        os.makedirs(folder, exist_ok=True)

    def save(self, step, model, optimizer):
        path = os.path.join(self.folder, f"step{step:05d}.pt")
        tmp = path + ".tmp"
        torch.save({"step": step, "model": model.module.state_dict(), "optim": optimizer.state_dict()}, tmp)
        os.replace(tmp, path)
        self.files.append(path)
        while len(self.files) > self.keep:
            os.remove(self.files.pop(0))
        # the file has to be complete before training goes on
        dist.barrier()
        return path
