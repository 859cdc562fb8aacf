"""Two-tower retrieval on implicit feedback, BPR with sampled items.

    python main.py --ranks 4 --epochs 6 --out logs
"""
import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def interactions(users, items, per_user, seed=3):
    """Users with a taste in a small latent space click on what is near (and popular)."""
    rng = np.random.default_rng(seed)
    u, v = rng.normal(size=(users, 8)), rng.normal(size=(items, 8))
    pop = rng.gumbel(size=items)
    score = u @ v.T + pop + rng.gumbel(size=(users, items))
    top = np.argsort(-score, axis=1)[:, : per_user + 1]
    perm = rng.permuted(top, axis=1)
    test = perm[:, -1]
    pairs = np.stack([np.repeat(np.arange(users), per_user), perm[:, :-1].ravel()], 1)
    return torch.from_numpy(pairs), torch.from_numpy(test)


class TwoTower(nn.Module):
    def __init__(self, users, items, dim, dropout):
        super().__init__()
        self.user = nn.Embedding(users, dim)
        self.item = nn.Embedding(items, dim)
        self.proj = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Dropout(dropout), nn.Linear(dim, dim))
        self.bias = nn.Embedding(items, 1)
        for e in (self.user, self.item, self.bias):
            nn.init.normal_(e.weight, std=0.1)

    def forward(self, u, i):
        q = self.proj(self.user(u))
        k = self.item(i)
        if k.dim() == 3:
            q = q[:, None]
        return (q * k).sum(-1) + self.bias(i).squeeze(-1)


class Log:
    def __init__(self, path):
        self.f = open(path, "w")

    def __call__(self, **kw):
        self.f.write(json.dumps({k: round(v, 5) if isinstance(v, float) else v for k, v in kw.items()}) + "\n")
        self.f.flush()


@torch.no_grad()
def recall_at(model, test, seen, k, rank, world):
    model.eval()
    users = torch.arange(rank, len(test), world)
    items = torch.arange(model.item.num_embeddings)
    q = model.proj(model.user(users))
    s = q @ model.item.weight.T + model.bias.weight.T
    for row, u in enumerate(users.tolist()):
        s[row, seen[u]] = -1e9
    hit = (s.topk(k).indices == test[users][:, None]).any(1).float()
    out = torch.tensor([hit.sum(), len(users)])
    dist.all_reduce(out)
    model.train()
    return (out[0] / out[1]).item()


def worker(rank, a):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{a.port}", rank=rank, world_size=a.ranks)
    torch.manual_seed(a.seed)
    np.random.seed(a.seed)

    pairs, test = interactions(a.users, a.items, a.per_user)
    seen = pairs[:, 1].view(a.users, a.per_user)
    pop = torch.bincount(pairs[:, 1], minlength=a.items).float()
    pop_rank = pop.argsort().argsort().float() / a.items
    prob = (pop + 1) ** 0.75

    sampler = DistributedSampler(TensorDataset(pairs), a.ranks, rank, shuffle=True, seed=a.seed)
    loader = DataLoader(TensorDataset(pairs), a.batch // a.ranks, sampler=sampler, drop_last=True)
    model = DistributedDataParallel(TwoTower(a.users, a.items, a.dim, a.dropout))
    opt = torch.optim.Adam(model.parameters(), lr=a.lr)

    log = Log(Path(a.out) / f"train_rank{rank}.jsonl")
    log(event="start", rank=rank, ranks=a.ranks, pairs=len(pairs), shard=len(sampler), steps=len(loader), negatives=a.negatives)
    step = 0
    for epoch in range(a.epochs):
        sampler.set_epoch(epoch)
        covered = torch.zeros(a.items)
        t0 = time.time()
        for (batch,) in loader:
            u, pos = batch[:, 0], batch[:, 1]
            neg = torch.multinomial(prob, len(u) * a.negatives, replacement=True).view(len(u), -1)
            covered[neg.flatten()] = 1
            sp, sn = model(u, torch.cat([pos[:, None], neg], 1)).split([1, a.negatives], 1)
            loss = F.softplus(sn - sp).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % a.every == 0:
                log(
                    event="step", epoch=epoch, step=step, loss=loss.item(), margin=(sp - sn).mean().item(),
                    pos_pop=pop_rank[pos].mean().item(), neg_pop=pop_rank[neg].mean().item(),
                    neg_unique=neg.unique().numel(),
                )
            step += 1
        mine = int(covered.sum())
        dist.all_reduce(covered, op=dist.ReduceOp.MAX)
        r = recall_at(model.module, test, seen, 20, rank, a.ranks)
        log(
            event="epoch", epoch=epoch, recall20=r, items_as_negative=mine, items_as_negative_all=int(covered.sum()),
            items=a.items, seconds=time.time() - t0,
        )
    if rank == 0:
        torch.save(model.module.state_dict(), Path(a.out) / "two_tower.pt")
        log(event="saved", file="two_tower.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--ranks", type=int, default=4)
    p.add_argument("--users", type=int, default=600)
    p.add_argument("--items", type=int, default=2000)
    p.add_argument("--per-user", type=int, default=30)
    p.add_argument("--dim", type=int, default=24)
    p.add_argument("--dropout", type=float, default=0.05)
    p.add_argument("--negatives", type=int, default=2)
    p.add_argument("--batch", type=int, default=256)
    p.add_argument("--lr", type=float, default=1e-2)
    p.add_argument("--epochs", type=int, default=6)
    p.add_argument("--every", type=int, default=25)
    p.add_argument("--seed", type=int, default=42)
    p.add_argument("--port", type=int, default=29717)
    p.add_argument("--out", default="logs")
    args = p.parse_args()
    Path(args.out).mkdir(exist_ok=True)
    mp.spawn(worker, (args,), nprocs=args.ranks)
