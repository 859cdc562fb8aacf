import torch.nn as nn


class Acoustic(nn.Module):
    def __init__(self, n_mels, n_vocab, hidden=64):
        super().__init__()
        self.front = nn.Sequential(nn.Conv1d(n_mels, hidden, 3, padding=1), nn.ReLU())
        self.rnn = nn.GRU(hidden, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, n_vocab)

    def forward(self, x):
        x = self.front(x.transpose(1, 2)).transpose(1, 2)
        x, _ = self.rnn(x)
        return self.out(x).log_softmax(-1)
