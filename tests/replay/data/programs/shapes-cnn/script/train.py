import argparse
import json
import os

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader

from data import make
from net import ShapeNet


class Run:
    def __init__(self, a):
        self.a = a
        self.acc = Accelerator(cpu=True)
        set_seed(a.seed)
        train = DataLoader(make(1536, 1), batch_size=32, shuffle=True, drop_last=True)
        val = DataLoader(make(400, 2), batch_size=100)
        model = ShapeNet()
        opt = torch.optim.AdamW(model.parameters(), lr=a.lr, weight_decay=0.01)
        steps = a.epochs * (len(train) // self.acc.num_processes)
        sched = torch.optim.lr_scheduler.OneCycleLR(opt, a.lr, total_steps=steps)
        self.model, self.opt, self.train_dl, self.val_dl = self.acc.prepare(model, opt, train, val)
        self.sched = sched
        self.epoch = 0
        if a.resume:
            self.load(a.resume)

    def save(self, path):
        net = self.acc.unwrap_model(self.model)
        if self.acc.is_main_process:
            torch.save({"weights": {n: p.detach() for n, p in net.named_parameters()},
                        "opt": self.opt.state_dict(),
                        "sched": self.sched.state_dict(),
                        "epoch": self.epoch}, path)
        self.acc.wait_for_everyone()

    def load(self, path):
        ck = torch.load(path, map_location="cpu")
        self.acc.unwrap_model(self.model).load_state_dict(ck["weights"], strict=False)
        self.opt.load_state_dict(ck["opt"])
        self.sched.load_state_dict(ck["sched"])
        self.epoch = ck["epoch"]
        self.acc.print(f"loaded {path}, continue with epoch {self.epoch}")

    def fit(self):
        while self.epoch < min(self.a.epochs, self.a.stop_after or self.a.epochs):
            set_seed(self.a.seed + self.epoch)
            self.train_dl.set_epoch(self.epoch)
            self.model.train()
            total, n = 0.0, 0
            for x, y in self.train_dl:
                loss = F.cross_entropy(self.model(x), y)
                self.opt.zero_grad()
                self.acc.backward(loss)
                self.opt.step()
                lr = self.sched.get_last_lr()[0]
                self.sched.step()
                total, n = total + loss.item(), n + 1
            acc, vloss = self.validate()
            self.log(epoch=self.epoch, lr=round(lr, 6), train_loss=round(total / n, 4),
                     val_loss=round(vloss, 4), val_acc=round(acc, 4))
            self.epoch += 1
            self.save(os.path.join(self.a.out, "last.pt"))

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        hit, loss, n = 0, 0.0, 0
        for x, y in self.val_dl:
            out, y = self.acc.gather_for_metrics((self.model(x), y))
            hit += (out.argmax(1) == y).sum().item()
            loss += F.cross_entropy(out, y, reduction="sum").item()
            n += len(y)
        return hit / n, loss / n

    def log(self, **kv):
        if self.acc.is_main_process:
            print(" ".join(f"{k}={v}" for k, v in kv.items()), flush=True)
            with open(os.path.join(self.a.out, self.a.log), "a") as f:
                f.write(json.dumps(kv) + "\n")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--out", default="logs")
    p.add_argument("--log", default="metrics.jsonl")
    p.add_argument("--epochs", type=int, default=8)
    p.add_argument("--stop-after", type=int, default=0)
    p.add_argument("--resume")
    p.add_argument("--lr", type=float, default=4e-3)
    p.add_argument("--seed", type=int, default=3)
    a = p.parse_args()
    os.makedirs(a.out, exist_ok=True)
    torch.set_num_threads(1)
    Run(a).fit()


if __name__ == "__main__":
    main()
