import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


class Lines:
    def __init__(self, files):
        self.files = files[dist.get_rank() :: dist.get_world_size()]

    def __iter__(self):
        for name in self.files:
            yield torch.load(name)


def main(files, model, optimizer):
    model = DDP(model)
    for batch in Lines(files):  # distkb: script.decided-by-own-part
        if batch["labels"].numel() == 0:  # distkb: script.decided-by-own-batch
            continue
        loss = model(batch).sum()
        loss.backward()
        optimizer.step()
