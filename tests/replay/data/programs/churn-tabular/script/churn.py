import os

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

CAT = [12, 7, 30]


class ChurnNet(nn.Module):
    def __init__(self, n_num, width=96):
        super().__init__()
        self.cats = nn.ModuleList(nn.Embedding(c, 8) for c in CAT)
        self.net = nn.Sequential(
            nn.Linear(n_num + 8 * len(CAT), width), nn.ReLU(), nn.LayerNorm(width),
            nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, num, cat):
        e = [emb(cat[:, i]) for i, emb in enumerate(self.cats)]
        return self.net(torch.cat([num, *e], 1)).squeeze(1)


def customers(n, seed):
    r = np.random.default_rng(seed)
    num = r.normal(size=(n, 10)).astype("float32")
    cat = np.stack([r.integers(0, c, n) for c in CAT], 1)
    z = num[:, 0] - 0.7 * num[:, 3] * num[:, 4] + 0.3 * (cat[:, 0] % 3) - 0.5 * (cat[:, 2] > 20) - 0.8
    y = (r.random(n) < 1 / (1 + np.exp(-2 * z))).astype("float32")
    return TensorDataset(torch.from_numpy(num), torch.from_numpy(cat), torch.from_numpy(y))


def auc(score, y):
    order = torch.argsort(score)
    rank = torch.empty_like(score)
    rank[order] = torch.arange(1, len(score) + 1, dtype=score.dtype)
    pos = y.sum()
    return ((rank[y > 0].sum() - pos * (pos + 1) / 2) / (pos * (len(y) - pos))).item()


def main():
    cuda = torch.cuda.is_available()
    local = int(os.environ["LOCAL_RANK"])
    dev = torch.device("cuda", local) if cuda else torch.device("cpu")
    dist.init_process_group("nccl" if cuda else "gloo")
    if cuda:
        torch.cuda.set_device(dev)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    train, test = customers(8000, 1), customers(2000, 2)
    sampler = DistributedSampler(train)
    loader = DataLoader(train, 128, sampler=sampler, drop_last=True)
    model = DDP(ChurnNet(10).to(dev))
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for epoch in range(4):
        sampler.set_epoch(epoch)
        for num, cat, y in loader:
            loss = nn.functional.binary_cross_entropy_with_logits(model(num.to(dev), cat.to(dev)), y.to(dev))
            opt.zero_grad()
            loss.backward()
            opt.step()
        if dist.get_rank() == 0:
            with torch.no_grad():
                num, cat, y = test.tensors
                print(f"epoch {epoch} loss {loss.item():.4f} auc {auc(model.module(num.to(dev), cat.to(dev)).cpu(), y):.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
