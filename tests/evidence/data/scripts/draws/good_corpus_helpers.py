"""Windows of one long text."""

import numpy as np
import torch


class Corpus:
    def __init__(self, path, block):
        self.tokens, self.block = np.memmap(path, dtype=np.uint16, mode="r"), block

    def batch(self, size):
        starts = torch.randint(len(self.tokens) - self.block - 1, (size,))
        rows = [self.tokens[i : i + self.block + 1].astype(np.int64) for i in starts.tolist()]
        both = torch.from_numpy(np.stack(rows))
        return both[:, :-1], both[:, 1:]
