import argparse

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, Subset
from tqdm import tqdm

from cohort import Cohort


def build(variants, hidden):
    return nn.Sequential(nn.Linear(variants, hidden), nn.GELU(), nn.LayerNorm(hidden), nn.Linear(hidden, 1))


def r2(pred, y):
    return 1 - ((pred - y) ** 2).sum() / ((y - y.mean()) ** 2).sum()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="cohort")
    p.add_argument("--hidden", type=int, default=64)
    p.add_argument("--batch-size", type=int, default=128)
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--lr", type=float, default=1e-3)
    a = p.parse_args()

    acc = Accelerator(cpu=True)
    set_seed(1)
    torch.set_num_threads(1)
    acc.print(f"{acc.num_processes} processes, {acc.distributed_type}")

    data = Cohort(a.data)
    n = len(data)
    cut = int(0.9 * n)
    acc.print(f"{n} samples, {len(data.mean)} variants, {n - cut} held out")
    train = DataLoader(Subset(data, range(cut)), a.batch_size, shuffle=True, drop_last=True)
    valid = DataLoader(Subset(data, range(cut, n)), 500)

    model = build(len(data.mean), a.hidden)
    opt = torch.optim.AdamW(model.parameters(), lr=a.lr, weight_decay=0.05)
    model, opt, train, valid = acc.prepare(model, opt, train, valid)

    for epoch in range(a.epochs):
        model.train()
        bar = tqdm(train, desc=f"epoch {epoch}", disable=not acc.is_main_process, mininterval=2, ncols=80)
        for x, y in bar:
            loss = nn.functional.mse_loss(model(x).squeeze(1), y)
            acc.backward(loss)
            opt.step()
            opt.zero_grad()
            bar.set_postfix(loss=f"{loss.item():.3f}")
        model.eval()
        preds, ys = [], []
        with torch.no_grad():
            for x, y in valid:
                pr, yy = acc.gather_for_metrics((model(x).squeeze(1), y))
                preds.append(pr)
                ys.append(yy)
        acc.print(f"epoch {epoch}: held-out r2 {r2(torch.cat(preds), torch.cat(ys)).item():.4f}")
    acc.wait_for_everyone()
    acc.save(acc.unwrap_model(model).state_dict(), "prs.pt")
    acc.print("saved prs.pt")
    acc.end_training()


if __name__ == "__main__":
    main()
