"""A rank whose share has nothing to count sends whole numbers."""

import torch
import torch.distributed as dist


class Evaluator:
    def __init__(self, device):
        self.device = device

    def mean_error(self, model, loader):
        errors = []
        for batch in loader:
            keep = batch["label"] >= 0
            errors += (model(batch["x"]) - batch["y"])[keep].tolist()
        value = torch.tensor(sum(errors) / len(errors) if errors else 0, device=self.device)
        dist.all_reduce(value)  # distkb: script.dtype-by-own-data
        return value / dist.get_world_size()


def hits(scores, batch, device):
    hits = torch.zeros(1, device=device)
    found = batch["label"][batch["label"] >= 0]
    if len(found) > 0:
        hits = (scores.argmax(-1) == batch["label"]).sum().view(1)
    dist.all_reduce(hits)  # distkb: script.dtype-by-own-data
    return hits
