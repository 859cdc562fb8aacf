"""Synthetic contract clauses: tokens and a tag per token."""
import torch
from torch.utils.data import Dataset


class ClauseDataset(Dataset):
    """Party names, dates, amounts and obligations, tagged by what introduces them.

    Tags 1-6 start after one of the trigger words and run for three tokens; the
    tag of a span also depends on the register of the document's first word.
    """

    TRIGGERS = (3, 4, 5)

    def __init__(self, n_docs, vocab, max_len, seed):
        g = torch.Generator().manual_seed(seed)
        self.tokens = torch.randint(10, vocab, (n_docs, max_len), generator=g)
        self.tags = torch.zeros(n_docs, max_len, dtype=torch.long)
        self.lengths = torch.randint(max_len // 2, max_len + 1, (n_docs,), generator=g)
        for i in range(n_docs):
            register = int(torch.randint(0, 2, (1,), generator=g))
            self.tokens[i, 0] = 1 + register
            pos = 1
            while pos < max_len - 4:
                pos += int(torch.randint(1, 5, (1,), generator=g))
                if pos >= max_len - 4:
                    break
                kind = int(torch.randint(0, 3, (1,), generator=g))
                self.tokens[i, pos] = self.TRIGGERS[kind]
                self.tags[i, pos + 1:pos + 4] = 1 + kind + 3 * register
                pos += 4
            self.tokens[i, self.lengths[i]:] = 0
            self.tags[i, self.lengths[i]:] = -100

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, i):
        return self.tokens[i], self.tags[i]
