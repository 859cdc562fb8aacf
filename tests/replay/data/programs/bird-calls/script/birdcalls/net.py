import torch.nn as nn


class CallNet(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(192, 48, 5, stride=2), nn.BatchNorm1d(48), nn.ReLU(),
            nn.Conv1d(48, 48, 5, stride=2), nn.BatchNorm1d(48), nn.ReLU(),
            nn.AdaptiveMaxPool1d(1), nn.Flatten(), nn.Linear(48, n_classes))

    def forward(self, x):
        return self.body(x)
