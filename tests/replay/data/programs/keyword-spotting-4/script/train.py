import json
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
import yaml
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader

from data import WORDS, Clips


class KWSNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.c1 = nn.Conv2d(1, width, 3, stride=2, padding=1)
        self.c2 = nn.Conv2d(width, width * 2, 3, stride=2, padding=1)
        self.fc1 = nn.Linear(width * 2 * 5 * 8, 64)
        self.fc2 = nn.Linear(64, len(WORDS))

    def forward(self, x):
        x = F.relu(self.c1(x))
        x = F.relu(self.c2(x))
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


def evaluate(acc, model, loader):
    model.eval()
    hit = tot = 0
    with torch.no_grad():
        for x, y in loader:
            p, t = acc.gather_for_metrics((model(x).argmax(-1), y))
            hit += (p == t).sum().item()
            tot += len(t)
    model.train()
    return hit / tot


def main(path):
    cfg = yaml.safe_load(open(path))
    acc = Accelerator(cpu=True)
    set_seed(cfg["seed"])
    train, val = Clips(cfg["train_clips"], 1), Clips(cfg["val_clips"], 2)
    tl = DataLoader(train, batch_size=cfg["batch_size"], shuffle=True)
    vl = DataLoader(val, batch_size=128)
    model = KWSNet()
    opt = torch.optim.SGD(model.parameters(), lr=cfg["lr"])
    model, opt, tl, vl = acc.prepare(model, opt, tl, vl)

    log = open(cfg["log"].format(n=acc.num_processes), "w") if acc.is_main_process else None
    t0, step = time.time(), 0
    for epoch in range(cfg["epochs"]):
        total = 0.0
        for x, y in tl:
            loss = F.cross_entropy(model(x), y)
            acc.backward(loss)
            opt.step()
            opt.zero_grad()
            step += 1
            total += loss.item()
        a = evaluate(acc, model, vl)
        if log:
            row = dict(epoch=epoch, step=step, procs=acc.num_processes, batch_size=cfg["batch_size"],
                       lr=opt.param_groups[0]["lr"], train_loss=round(total / len(tl), 4),
                       val_acc=round(a, 4), sec=round(time.time() - t0, 1))
            log.write(json.dumps(row) + "\n")
            log.flush()
    acc.end_training()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "config.yaml")
