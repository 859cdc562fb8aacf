import argparse
import logging
import platform
import time

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, random_split

from series import HourlyLoad

logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
log = logging.getLogger("load")


class Forecaster(nn.Module):
    def __init__(self, context, horizon, width=64):
        super().__init__()
        self.rnn = nn.GRU(1, width, batch_first=True)
        self.head = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, horizon))

    def forward(self, x):
        _, h = self.rnn(x.unsqueeze(-1))
        return self.head(h[-1])


def evaluate(acc, model, loader):
    model.eval()
    err = []
    with torch.no_grad():
        for x, y in loader:
            p, y = acc.gather_for_metrics((model(x), y))
            err.append((p - y).abs().mean())
    model.train()
    return torch.stack(err).mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=3)
    ap.add_argument("--batch-size", type=int, default=64)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--cpu", action="store_true", help="quick check without the cards")
    ap.add_argument("--out", default="forecaster.pt")
    args = ap.parse_args()

    log.info("host %s, torch %s, args %s", platform.node(), torch.__version__, vars(args))
    set_seed(11)
    data = HourlyLoad()
    n_val = len(data) // 5
    train_set, val_set = random_split(data, [len(data) - n_val, n_val])
    log.info("windows: %d train, %d val", len(train_set), len(val_set))

    acc = Accelerator(cpu=args.cpu)
    log.info("device %s, processes %d", acc.device, acc.num_processes)
    model = Forecaster(data.context, data.horizon)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    tl = DataLoader(train_set, args.batch_size, shuffle=True)
    vl = DataLoader(val_set, 256)
    model, opt, tl, vl = acc.prepare(model, opt, tl, vl)

    for epoch in range(args.epochs):
        t0, tot = time.time(), 0.0
        for x, y in tl:
            loss = nn.functional.mse_loss(model(x), y)
            acc.backward(loss)
            opt.step()
            opt.zero_grad()
            tot += loss.item()
        mae = evaluate(acc, model, vl)
        log.info("epoch %d  train mse %.4f  val mae %.4f  %.1fs", epoch, tot / len(tl), mae, time.time() - t0)
    acc.wait_for_everyone()
    if acc.is_main_process:
        torch.save(acc.unwrap_model(model).state_dict(), args.out)
        log.info("saved %s", args.out)
    acc.end_training()


if __name__ == "__main__":
    main()
