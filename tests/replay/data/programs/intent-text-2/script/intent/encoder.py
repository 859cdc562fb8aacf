"""Compact BERT style encoder. Same layout as the checkpoint we distill from."""
import torch
from torch import nn


class Embeddings(nn.Module):
    def __init__(self, vocab, max_len, hidden):
        super().__init__()
        self.word = nn.Embedding(vocab, hidden, padding_idx=0)
        self.position = nn.Embedding(max_len, hidden)
        self.norm = nn.LayerNorm(hidden)

    def forward(self, ids):
        pos = torch.arange(ids.size(1), device=ids.device)
        return self.norm(self.word(ids) + self.position(pos))


class Pooler(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.dense = nn.Linear(hidden, hidden)

    def forward(self, states):
        return torch.tanh(self.dense(states[:, 0]))


class Encoder(nn.Module):
    def __init__(self, vocab, max_len, hidden, layers, heads):
        super().__init__()
        self.embeddings = Embeddings(vocab, max_len, hidden)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(hidden, heads, 4 * hidden, dropout=0.1, batch_first=True)
            for _ in range(layers)
        )
        self.pooler = Pooler(hidden)

    def forward(self, ids, mask):
        x = self.embeddings(ids)
        for block in self.blocks:
            x = block(x, src_key_padding_mask=~mask)
        return x, self.pooler(x)
