import json
import os

import torch

from captioner import Captioner

d = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mirror_data", "lab", "tiny-captioner")
os.makedirs(d, exist_ok=True)
cfg = {"vocab": 300, "dim": 64, "layers": 12}
torch.manual_seed(0)
sd = Captioner(**cfg).state_dict()
groups = {}
for k, v in sd.items():
    part = k.split(".")
    groups.setdefault(int(part[1]) + 1 if part[0] == "blocks" else 0, {})[k] = v
index = {}
for i, g in groups.items():
    name = f"weights-{i:02d}-of-{len(groups):02d}.pt"
    torch.save(g, os.path.join(d, name))
    index.update({k: name for k in g})
json.dump(cfg, open(os.path.join(d, "config.json"), "w"))
json.dump(index, open(os.path.join(d, "weights.index.json"), "w"))
json.dump({str(i): f"w{i}" for i in range(300)}, open(os.path.join(d, "vocab.json"), "w"))
open(os.path.join(d, "merges.txt"), "w").write("w 1\n")
open(os.path.join(d, "README.md"), "w").write("# tiny-captioner\n")
