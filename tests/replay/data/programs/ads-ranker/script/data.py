import torch
from torch.utils.data import IterableDataset


class ClickStream(IterableDataset):
    """Synthetic stand-in for the click log: one id per field, a label."""

    def __init__(self, cardinalities, batch, steps, seed):
        self.card = cardinalities
        self.batch = batch
        self.steps = steps
        self.seed = seed

    def __iter__(self):
        g = torch.Generator().manual_seed(self.seed)
        for _ in range(self.steps):
            ids = torch.stack(
                [(torch.rand(self.batch, generator=g).pow(3) * c).long() for c in self.card], dim=1)
            y = ((ids[:, 0] % 7 + ids[:, 1] % 5) > 5).float()
            yield ids, y
