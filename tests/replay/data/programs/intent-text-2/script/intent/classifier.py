from torch import nn

from .encoder import Encoder


class IntentClassifier(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.encoder = Encoder(cfg["vocab"], cfg["max_len"], cfg["hidden"], cfg["layers"], cfg["heads"])
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(cfg["hidden"], cfg["classes"])

    def forward(self, ids, mask):
        states, pooled = self.encoder(ids, mask)
        m = mask.unsqueeze(-1).to(states.dtype)
        sentence = (states * m).sum(1) / m.sum(1).clamp(min=1.0)
        return self.out(self.drop(sentence))
