import os

import torch


class Runner:
    def __init__(self, net):
        local = int(os.getenv("LOCAL_RANK", "0"))  # distkb: script.trains-alone
        self.device = torch.device(f"cuda:{local}")
        self.net = net.to(self.device)
        self.optimizer = torch.optim.AdamW(self.net.parameters())

    def fit(self, loader):
        for x, y in loader:
            loss = self.net(x.to(self.device)).sub(y.to(self.device)).square().mean()
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()
