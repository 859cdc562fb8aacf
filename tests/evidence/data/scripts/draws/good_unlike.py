"""What is drawn decides nothing of the data: steps of noise, samples for evaluation, a buffer of the rank's own."""

import random

import torch
import torch.distributed as dist
from accelerate.utils import set_seed
from net import Net, act, loader
from torch.nn.parallel import DistributedDataParallel


def noise(x, alphas):
    t = torch.randint(0, 1000, (x.size(0),))
    return x * alphas[t] + torch.randn_like(x), t


def evaluate(model, held):
    chosen = torch.randint(len(held), (64,))
    return model(held[chosen], chosen).mean()


class Memory:
    def __init__(self):
        self.seen = []

    def push(self, one):
        self.seen.append(one)

    def draw(self, size):
        return torch.stack(random.sample(self.seen, size))


def main(args, alphas, held):
    dist.init_process_group("gloo")
    set_seed(args.seed)
    model = DistributedDataParallel(Net())
    opt = torch.optim.AdamW(model.parameters())
    for x in loader:
        model(*noise(x, alphas)).mean().backward()
        opt.step()
        opt.zero_grad()
    memory = Memory()
    for step in range(args.steps):
        memory.push(act(model))
        model(memory.draw(32), step).mean().backward()
        opt.step()
        opt.zero_grad()
        if step % 100 == 0:
            print(evaluate(model, held))
