"""A model under DDP whose second encoder runs only where the batch has something for it."""

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.text, self.sound = nn.Linear(64, 8), nn.Linear(128, 8)

    def forward(self, text, sound=None):
        out = self.text(text)
        if sound is not None:
            out = out + self.sound(sound)  # distkb: script.input-absent-on-rank
        return out


def collate_rows(rows):
    text = torch.stack([row["text"] for row in rows])
    clips = [row["sound"] for row in rows if "sound" in row]
    sound = torch.stack(clips) if clips else None
    return text, sound


def train(loader, gpu):
    model = DistributedDataParallel(Encoder().cuda(gpu), device_ids=[gpu])
    for text, sound in loader:
        model(text, sound).mean().backward()
