import torch
import torch.nn as nn
import torch.nn.functional as F

from strings import ALPHABET, PAD


class CharLM(nn.Module):
    def __init__(self, d=48, hidden=96):
        super().__init__()
        self.emb = nn.Embedding(len(ALPHABET), d, padding_idx=PAD)
        self.rnn = nn.GRU(d, hidden, batch_first=True)
        self.head = nn.Linear(hidden, len(ALPHABET))

    def forward(self, ids):
        return self.head(self.rnn(self.emb(ids))[0])


def seq_logp(model, ids):
    logits = model(ids[:, :-1])
    lp = torch.log_softmax(logits, -1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    return (lp * ids[:, 1:].ne(PAD)).sum(-1)


def lm_loss(model, ids):
    logits = model(ids[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), ignore_index=PAD)
