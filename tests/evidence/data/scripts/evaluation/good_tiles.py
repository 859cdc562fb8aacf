"""Helpers that keep no graph of what they put together: nothing is recorded, or only what has no graph is kept."""

import os

import torch
import torch.distributed as dist
from net import Net, loader
from torch.nn.parallel import DistributedDataParallel

SIDE = 256


@torch.no_grad()
def stitched(model, picture):
    whole = torch.zeros(3, *picture.shape[-2:], device=picture.device)
    hits = torch.zeros(picture.shape[-2:], device=picture.device)
    for top in range(0, picture.shape[-2], SIDE // 2):
        part = slice(top, top + SIDE)
        whole[:, part] += model(picture[:, part]).float().softmax(0)
        hits[part] += 1
    whole = whole / hits
    return whole[:, : picture.shape[-2]]


def by_views(model, picture):
    seen = []
    for axes in ([1], [2], [1, 2]):
        seen.append(model(picture.flip(axes)).flip(axes).detach())
    return torch.stack(seen).mean(0)


def check(model, pictures, masks):
    model.eval()
    right = torch.zeros(1, device="cuda")
    for picture, mask in zip(pictures, masks):
        right += (stitched(model, picture).argmax(0) == mask).float().mean()
    model.train()
    return right


def validate_views(model, val_loader):
    wrong = torch.zeros(1, device="cuda")
    for picture, mask in val_loader:
        scores = by_views(model, picture)
        with torch.no_grad():
            wrong += (scores.argmax(0) != mask).float().mean()
    return wrong


torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
ddp = DistributedDataParallel(Net().cuda())
optimizer = torch.optim.Adam(ddp.parameters())
for _ in range(10):
    for x, y in loader("train"):
        torch.nn.functional.cross_entropy(ddp(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
    check(ddp.module, *loader("whole"))
    validate_views(ddp.module, loader("val"))


def counted(model, picture):
    votes = {}
    votes["views"] = model(picture)
    votes["side"] = SIDE
    return votes["side"]


def validate_counts(model, val_loader):
    return [counted(model, picture) for picture, _ in val_loader]


validate_counts(ddp, loader("val"))
