import torch
from torch.utils.data import Dataset

WORDS = "yes no up down left right on off stop go wait back".split()


class Clips(Dataset):
    """log-mel like keyword clips: one template per word, spoken by speakers of different speed and pitch"""

    def __init__(self, n, conf, seed):
        words, frames, mels = conf["words"], conf["frames"], conf["mels"]
        tg = torch.Generator().manual_seed(1234)
        templates = torch.randn(words, 8, mels, generator=tg)
        g = torch.Generator().manual_seed(seed)
        self.label = torch.randint(0, words, (n,), generator=g)
        self.speaker = torch.randint(0, 60, (n,), generator=g)
        self.feats = torch.randn(n, frames, mels, generator=g) * 1.4
        for i in range(n):
            speed = 3 + int(self.speaker[i]) % 2
            shift = int(self.speaker[i]) % 5 - 2
            t = templates[self.label[i]].repeat_interleave(speed, 0).roll(shift, 1)
            at = int(torch.randint(0, frames - t.size(0) + 1, (1,), generator=g))
            self.feats[i, at:at + t.size(0)] += t
        self.seed = seed

    def name(self, i):
        return f"spk{int(self.speaker[i]):02d}/{WORDS[self.label[i]]}_{i:04d}"

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        return self.feats[i], self.label[i], i
