"""A method that evaluates."""

import torch
from accelerate import Accelerator
from net import Net, loader


class Job:
    def __init__(self):
        self.accelerator = Accelerator()
        net = Net()
        opt = torch.optim.Adam(net.parameters())
        self.net, self.opt, self.train_dl, self.val_dl = self.accelerator.prepare(
            net, opt, loader("train"), loader("val")
        )

    def fit(self):
        for _ in range(5):
            for x, y in self.train_dl:
                self.accelerator.backward(torch.nn.functional.mse_loss(self.net(x), y))
                self.opt.step()
                self.opt.zero_grad()
            self.evaluate()

    def evaluate(self):
        self.net.eval()
        total = 0
        for x, y in self.val_dl:
            total += torch.nn.functional.mse_loss(self.net(x), y)  # distkb: script.evaluation-builds-graph
        self.net.train()
        return total / len(self.val_dl)


Job().fit()
