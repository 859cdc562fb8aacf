"""An empty batch makes a tensor of another type than the others."""

import torch
import torch.distributed as dist
from torch.nn.functional import smooth_l1_loss


def matched(boxes, device):
    mask = torch.zeros(len(boxes), 64, dtype=torch.bool, device=device)
    for i, box in enumerate(boxes):
        mask[i, box.long()] = True
    return mask, mask.float()


def loss_of(pred, boxes):
    if sum(len(b) for b in boxes) == 0:
        count = torch.zeros(1, device=pred.device)
    else:
        mask, target = matched(boxes, pred.device)
        count = mask.sum().reshape(1)
    dist.all_reduce(count)  # distkb: script.dtype-by-own-data
    return smooth_l1_loss(pred, pred * 0, reduction="sum") / count.clamp(min=1)


def train(model, loader, optimizer):
    for images, boxes in loader:
        loss = loss_of(model(images), boxes)
        loss.backward()
        optimizer.step()
