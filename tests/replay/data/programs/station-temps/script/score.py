"""Score saved weights on stations that were not trained on (one process)."""
import json
import sys

import torch
import torch.nn.functional as F

import stations
from model import StationNet

with open(sys.argv[1]) as f:
    c = json.load(f)
net = StationNet(c["past"], c["ahead"], c["width"], c["depth"])
net.load_state_dict(torch.load(c["weights"]))
net.eval()
series = stations.make(40, 1200, seed=77)
g = torch.Generator().manual_seed(0)
with torch.no_grad():
    x, y = stations.batch(series, c["past"], c["ahead"], 512, g)
    mse = F.mse_loss(net(x), y).item()
    base = F.mse_loss(x[:, -24:-12], y).item()
print(f"held-out mse {mse:.4f}  (same hour yesterday: {base:.4f})")
