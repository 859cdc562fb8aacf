"""Score a saved network on the validation tiles."""
import json
import sys

import torch

from trainer import accuracy, load, tile_net

cfg = json.load(open(sys.argv[1]))
net = tile_net()
net.load_state_dict(torch.load(cfg["ckpt"]))
x, y = load(cfg["data"] + "/valid.npz")
print(f"{cfg['ckpt']}: {len(x)} tiles, accuracy {accuracy(net, x, y):.4f}")
