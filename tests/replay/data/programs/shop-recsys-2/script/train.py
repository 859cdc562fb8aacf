import argparse
import time

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader
from tqdm import tqdm

from recsys.data import Baskets
from recsys.evaluate import rank_all
from recsys.model import TwoTower
from recsys.tracker import Run


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=4)
    ap.add_argument("--batch", type=int, default=256)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--log-every", type=int, default=10)
    ap.add_argument("--runs", default="runs")
    args = ap.parse_args()

    acc = Accelerator(cpu=True)
    set_seed(17, device_specific=True)
    data = Baskets()
    print(f"{data.users} users, {data.items} items, {len(data)} purchases")
    run = Run(args.runs, "shop", {**vars(args), "processes": acc.num_processes})

    model = TwoTower(data.users, data.items)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    loader = DataLoader(data, batch_size=args.batch, shuffle=True, drop_last=True)
    model, opt, loader = acc.prepare(model, opt, loader)
    print(f"batch {args.batch} x {acc.num_processes}, {len(loader)} steps per epoch")

    step = 0
    for epoch in range(args.epochs):
        t0 = time.time()
        bar = tqdm(loader, desc=f"epoch {epoch}", leave=False, mininterval=1.0)
        for u, pos, neg in bar:
            sp, sn = model(u, pos, neg)
            loss = F.softplus(sn - sp).mean()
            acc.backward(loss)
            opt.step()
            opt.zero_grad()
            step += 1
            if step % args.log_every == 0:
                bar.set_postfix(loss=f"{loss.item():.4f}")
                run.log(step=step, epoch=epoch, loss=round(loss.item(), 5))
        t_train = time.time() - t0
        m = rank_all(acc.unwrap_model(model), data)
        print(f"epoch {epoch} step {step} loss {loss.item():.4f} hit@10 {m['hit@10']:.4f} ndcg@10 {m['ndcg@10']:.4f} "
              f"({m['users']} users) train {t_train:.1f}s eval {m['seconds']:.1f}s")
        run.log(step=step, epoch=epoch, **{k: round(v, 5) for k, v in m.items()}, train_seconds=round(t_train, 2))

    acc.wait_for_everyone()
    if acc.is_main_process:
        acc.save(acc.unwrap_model(model).state_dict(), "twotower.pt")
        print("saved twotower.pt")
    run.close()
    acc.end_training()


if __name__ == "__main__":
    main()
