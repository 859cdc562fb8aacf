"""Writes the base checkpoint that finetune.py starts from."""
import sys

import torch

from model import StoryLM

torch.manual_seed(0)
net = StoryLM()
for p in net.parameters():
    if p.dim() == 2:
        torch.nn.init.normal_(p, std=0.02)
torch.save({"model": net.state_dict(), "step": 0}, sys.argv[1])
