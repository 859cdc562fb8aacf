"""A method of a trainer picks rows with NumPy."""

import numpy as np
import torch
import torch.distributed as dist
from net import Net
from torch.nn.parallel import DistributedDataParallel as DDP


class Trainer:
    def __init__(self, model, data, cfg):
        self.model, self.data, self.cfg = DDP(model), data, cfg
        self.opt = torch.optim.SGD(self.model.parameters(), lr=cfg.lr)

    def pick(self):
        chosen = np.random.choice(len(self.data["x"]), self.cfg.batch, replace=False)
        return self.data["x"][chosen], self.data["y"][chosen]

    def update(self):
        x, y = self.pick()
        loss = torch.nn.functional.mse_loss(self.model(x), y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()

    def run(self):
        step = 0
        while step < self.cfg.steps:
            self.update()
            step += 1


def start(cfg):
    dist.init_process_group("gloo")
    np.random.seed(cfg.seed)  # distkb: script.one-seed-draws-batches
    torch.manual_seed(cfg.seed)
    Trainer(Net(), torch.load(cfg.data), cfg).run()
