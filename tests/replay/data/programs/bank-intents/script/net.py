import torch
from torch import nn


class IntentNet(nn.Module):
    def __init__(self, vocab_size, dim, n_classes):
        super().__init__()
        self.emb = nn.Embedding(vocab_size, dim, padding_idx=0)
        self.conv = nn.Conv1d(dim, 2 * dim, 3, padding=1)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(2 * dim, n_classes)

    def forward(self, x):
        h = torch.relu(self.conv(self.emb(x).transpose(1, 2)))
        return self.out(self.drop(h.amax(dim=2)))
