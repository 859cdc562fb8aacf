import torch
from torch.utils.data import Dataset

VOCAB = "_ abcdefghijklmnop"


class Utterances(Dataset):
    """Synthetic filterbank features: every symbol lasts a few frames and has its own spectrum."""

    def __init__(self, n, n_mels=24, seed=0):
        g = torch.Generator().manual_seed(1234)
        self.proto = torch.randn(len(VOCAB), n_mels, generator=g)
        self.n, self.n_mels, self.seed = n, n_mels, seed

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(self.seed * 100003 + i)
        length = int(torch.randint(3, 8, (1,), generator=g))
        text = torch.randint(1, len(VOCAB), (length,), generator=g)
        frames = torch.repeat_interleave(text, 6)
        feats = self.proto[frames] + 0.3 * torch.randn(len(frames), self.n_mels, generator=g)
        return feats, text


def collate(batch):
    feats, texts = zip(*batch)
    flen = torch.tensor([len(f) for f in feats])
    tlen = torch.tensor([len(t) for t in texts])
    feats = torch.nn.utils.rnn.pad_sequence(feats, batch_first=True)
    return feats, flen, torch.cat(texts), tlen
