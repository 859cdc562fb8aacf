"""The norm of the gradients is taken by hand, from what one rank holds of them."""

import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


def limited(weights, most):
    squares = [w.grad.float().pow(2).sum() for w in weights if w.grad is not None]
    length = torch.stack(squares).sum().sqrt()
    for w in weights:
        if w.grad is not None:
            w.grad.mul_(torch.clamp(most / (length + 1e-6), max=1.0))
    return length


def length_of(net):
    total = 0.0
    for w in net.parameters():
        total += w.grad.norm().item() ** 2
    return total**0.5


class Loop:
    def __init__(self, net):
        self.net = FSDP(net, use_orig_params=True)
        self.weights = [w for w in self.net.parameters() if w.requires_grad]

    def step(self):
        limited(self.weights, 1.0)  # distkb: script.clips-own-shards

    def other(self, most):
        length = length_of(self.net)  # distkb: script.clips-own-shards
        if length > most:
            for w in self.net.parameters():
                w.grad *= most / length

    def third(self):
        torch.nn.utils.clip_grad_norm_(self.weights, 1.0)  # distkb: script.clips-own-shards


def main(net, loader):
    model = FSDP(net)
    for batch in loader:
        model(batch).backward()
        grads = [w.grad for w in model.parameters()]
        length = torch.nn.utils.get_total_norm(grads)  # distkb: script.clips-own-shards
        torch.nn.utils.clip_grads_with_norm_(model.parameters(), 1.0, length)
