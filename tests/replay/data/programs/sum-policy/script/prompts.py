import torch
from torch.utils.data import Dataset, Sampler

from policy import EOS, PLUS


class SumPrompts(Dataset):
    def __init__(self, digits):
        self.pairs = [(a, b) for a in range(digits) for b in range(digits)]

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, i):
        a, b = self.pairs[i]
        return torch.tensor([a, PLUS, b]), torch.tensor([a + b, EOS])


class GroupSampler(Sampler):
    """Every prompt `repeats` times in a row, over all ranks; a rank reads its own slice."""

    def __init__(self, n_prompts, repeats, per_step, rank, world, seed, shuffle=True, limit=None):
        self.n, self.repeats, self.per_step = n_prompts, repeats, per_step
        self.rank, self.world, self.seed = rank, world, seed
        self.shuffle, self.limit, self.epoch = shuffle, limit, 0

    def order(self):
        if self.shuffle:
            g = torch.Generator().manual_seed(self.seed + self.epoch)
            picks = torch.randperm(self.n, generator=g)
        else:
            picks = torch.arange(self.n)
        return picks[: self.limit].repeat_interleave(self.repeats)

    def __iter__(self):
        flat = self.order()
        chunk = self.per_step * self.world
        for start in range(0, len(flat) - chunk + 1, chunk):
            mine = flat[start + self.rank * self.per_step: start + (self.rank + 1) * self.per_step]
            yield mine.tolist()
        self.epoch += 1
