"""A checkpointer reads the file in one method and gives the state back in another."""

import torch
import torch.distributed as dist
from net import Net, loader
from torch.nn.parallel import DistributedDataParallel


class Checkpointer:
    def __init__(self, path):
        self.path = path
        self.state = None

    def read(self):
        return torch.load(self.path, map_location="cpu")

    def write(self, model):
        if dist.get_rank() == 0:
            torch.save({"model": model.state_dict(), "rng": torch.get_rng_state()}, self.path)

    def restore(self, model):
        state = self.read()
        model.load_state_dict(state["model"])
        torch.set_rng_state(state.get("rng").to("cpu"))  # distkb: script.one-random-state-for-all


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(7 + dist.get_rank())
    model = DistributedDataParallel(Net())
    checkpoints = Checkpointer("last.pt")
    checkpoints.restore(model)
    for batch in loader:
        model(batch).mean().backward()
    checkpoints.write(model)
