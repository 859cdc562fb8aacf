import argparse
import json
import os
import time

import torch
import torch.nn as nn
import yaml
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration, set_seed
from torch.utils.data import DataLoader

from clips import Clips


class KWS(nn.Module):
    def __init__(self, mels, words, ch=48):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(mels, ch, 5, padding=2), nn.ReLU(),
            nn.Conv1d(ch, ch, 5, padding=4, dilation=2), nn.ReLU(),
            nn.Conv1d(ch, ch, 5, padding=8, dilation=4), nn.ReLU(),
        )
        self.out = nn.Linear(ch, words)

    def forward(self, x):
        return self.out(self.net(x.transpose(1, 2)).amax(-1))


def evaluate(acc, model, loader):
    model.eval()
    hit = n = 0
    with torch.no_grad():
        for x, y, _ in loader:
            pred, y = acc.gather_for_metrics((model(x).argmax(1), y))
            hit += (pred == y).sum().item()
            n += y.numel()
    model.train()
    return hit / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--conf", default="conf.yaml")
    ap.add_argument("--work", required=True)
    ap.add_argument("--metrics", required=True)
    ap.add_argument("--one-go", action="store_true", help="no time slots")
    args = ap.parse_args()
    conf = yaml.safe_load(open(args.conf))

    torch.set_num_threads(1)
    acc = Accelerator(cpu=True, dataloader_config=DataLoaderConfiguration(use_seedable_sampler=True))
    set_seed(conf["seed"])

    train = Clips(conf["clips"], conf, seed=1)
    dev = Clips(conf["dev_clips"], conf, seed=2)
    model = KWS(conf["mels"], conf["words"])
    opt = torch.optim.Adam(model.parameters(), lr=conf["lr"])
    loader = DataLoader(train, batch_size=conf["batch"], shuffle=True, drop_last=True)
    dev_loader = DataLoader(dev, batch_size=60)
    per_epoch = len(loader) // acc.num_processes
    total = per_epoch * conf["epochs"]
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: max(0.05, 1 - s / (total * acc.num_processes)))
    model, opt, loader, dev_loader, sched = acc.prepare(model, opt, loader, dev_loader, sched)

    def emit(**kw):
        if acc.is_main_process:
            with open(args.metrics, "a") as f:
                f.write(json.dumps(kw) + "\n")

    state_dir = os.path.join(args.work, "state")
    progress = os.path.join(args.work, "progress.json")
    step = 0
    if os.path.exists(progress):
        step = json.load(open(progress))["step"]
        acc.load_state(state_dir)
        acc.print(f"restored {state_dir} step {step}")
    emit(event="start", step=step, total=total, per_epoch=per_epoch, procs=acc.num_processes, clips=len(train))

    begun, t0 = step, time.time()
    stop = False
    epoch = 0
    while not stop:
        loader.set_epoch(epoch)
        for x, y, idx in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            acc.backward(loss)
            opt.step()
            sched.step()
            opt.zero_grad()
            step += 1
            if step % conf["log_every"] == 1:
                mean = acc.reduce(loss.detach(), "mean").item()
                emit(step=step, epoch=epoch, loss=round(mean, 4), lr=round(sched.get_last_lr()[0], 6), clips=[train.name(int(i)) for i in idx[:3]])
            stop = step == total or (not args.one_go and step - begun == conf["slice_steps"])
            if stop:
                break
        if stop or step % per_epoch == 0:
            emit(event="dev", step=step, acc=round(evaluate(acc, model, dev_loader), 4))
        epoch += 1

    acc.save_state(state_dir)
    if acc.is_main_process:
        json.dump({"step": step}, open(progress, "w"))
    acc.print(f"step {step}/{total} in {time.time() - t0:.1f} s, saved {state_dir}")
    acc.end_training()


if __name__ == "__main__":
    main()
