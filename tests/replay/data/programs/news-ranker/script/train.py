import argparse
import logging
import time

import torch
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

import comm
from dataset import Clicks, held_out
from metrics import full_catalogue

N_USERS = 3000


class TwoTower(nn.Module):
    def __init__(self, n_users, n_items, dim):
        super().__init__()
        self.user = nn.Embedding(n_users, dim)
        self.item = nn.Embedding(n_items, dim)
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, u, i):
        return (self.user(u) * self.item(i)).sum(1) + self.bias


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--items", type=int, default=2000)
    p.add_argument("--eval-users", type=int, default=200)
    p.add_argument("--dim", type=int, default=24)
    p.add_argument("--batch", type=int, default=256)
    p.add_argument("--lr", type=float, default=0.01)
    p.add_argument("--pg-timeout", type=int, default=30, help="minutes")
    return p.parse_args()


def main():
    args = parse()
    rank, world = comm.setup(args.pg_timeout)
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s rank{rank} %(levelname)s %(message)s")
    log = logging.getLogger("ranker")
    log.info("world %d, process group timeout %d min", world, args.pg_timeout)

    torch.manual_seed(1)
    data = Clicks(N_USERS, args.items, 24000, seed=5)
    truth = held_out(args.eval_users, args.items, 20, seed=6)
    sampler = DistributedSampler(data, shuffle=True, seed=2)
    loader = DataLoader(data, batch_size=args.batch, sampler=sampler, drop_last=True)
    model = DistributedDataParallel(TwoTower(N_USERS, args.items, args.dim))
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    bce = nn.BCEWithLogitsLoss()

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        t0, losses = time.time(), []
        for step, (u, i, y) in enumerate(loader):
            loss = bce(model(u, i), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
            if rank == 0 and step % 10 == 0:
                log.info("epoch %d step %d/%d loss %.4f", epoch, step, len(loader), loss.item())
        (mean_loss,) = comm.mean_over_ranks([sum(losses) / len(losses)])
        log.info("epoch %d train loss %.4f (%.1fs)", epoch, mean_loss, time.time() - t0)

        scores = None
        if rank == 0:
            t0 = time.time()
            scores = full_catalogue(model.module, truth)
            log.info("ranked %d users against %d articles in %.1fs", len(truth), args.items, time.time() - t0)
        ndcg, recall = comm.share_from_main(scores)
        log.info("epoch %d ndcg@10 %.4f recall@50 %.4f", epoch, ndcg, recall)

    if rank == 0:
        torch.save(model.module.state_dict(), "ranker.pt")
        log.info("saved ranker.pt")
    comm.teardown()


if __name__ == "__main__":
    main()
