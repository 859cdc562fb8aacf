import torch.nn as nn


class TinyCTC(nn.Module):
    def __init__(self, bins, hidden, symbols):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(bins, hidden, 5, stride=2, padding=2), nn.ReLU(),
                                  nn.Conv1d(hidden, hidden, 5, padding=2), nn.ReLU())
        self.rnn = nn.GRU(hidden, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, symbols)

    def forward(self, x, lens):
        h = self.conv(x.transpose(1, 2)).transpose(1, 2)
        h, _ = self.rnn(h)
        return self.out(h).log_softmax(-1), (lens + 1) // 2
