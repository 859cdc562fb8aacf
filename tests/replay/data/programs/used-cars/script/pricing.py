# %% [markdown]
# # Used-car price model
# Small tabular baseline. Run the cells from top to bottom.

# %%
import math
import time

import torch
import torch.nn as nn
from accelerate import Accelerator, notebook_launcher
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.set_num_threads(1)
print("torch", torch.__version__)

# %%
CFG = dict(epochs=6, batch_size=64, lr=4e-3, brands=20, emb=8, hidden=48, workers=2, seed=3)


def load_table(n=6000):
    g = torch.Generator().manual_seed(CFG["seed"])
    brand = torch.randint(0, CFG["brands"], (n,), generator=g)
    age = torch.rand(n, generator=g) * 15
    km = age * 12 + torch.randn(n, generator=g) * 20
    hp = 60 + 200 * torch.rand(n, generator=g)
    base = torch.linspace(8.5, 10.8, CFG["brands"])[brand]
    logp = base - 0.09 * age - 0.002 * km + 0.002 * hp + 0.05 * torch.randn(n, generator=g)
    x = torch.stack([age / 15, km / 180, hp / 260], 1)
    return TensorDataset(brand, x, logp)


table = load_table()
train_set, valid_set = random_split(table, [5000, 1000], generator=torch.Generator().manual_seed(0))
print("rows:", len(train_set), "train /", len(valid_set), "valid")


# %%
class PriceNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(CFG["brands"], CFG["emb"])
        self.mlp = nn.Sequential(
            nn.Linear(CFG["emb"] + 3, CFG["hidden"]), nn.ReLU(),
            nn.Linear(CFG["hidden"], CFG["hidden"]), nn.ReLU(), nn.Linear(CFG["hidden"], 1))

    def forward(self, brand, x):
        return self.mlp(torch.cat([self.emb(brand), x], 1)).squeeze(1) + 9.5


def rmse(model, loader, accelerator):
    model.eval()
    err, n = 0.0, 0
    with torch.no_grad():
        for brand, x, y in loader:
            pred, y = accelerator.gather_for_metrics((model(brand, x), y))
            err += ((pred - y) ** 2).sum().item()
            n += len(y)
    model.train()
    return math.sqrt(err / n)


# %%
# first look: error of the untrained network and one batch through the pipeline
accelerator = Accelerator(cpu=True)
probe = accelerator.prepare(PriceNet())
probe_loader = accelerator.prepare(DataLoader(valid_set, batch_size=256))
brand, x, y = next(iter(probe_loader))
print("batch", tuple(x.shape), "log price %.2f +- %.2f" % (y.mean(), y.std()))
print("untrained rmse %.3f" % rmse(probe, probe_loader, accelerator))
print("parameters", sum(p.numel() for p in probe.parameters()))


# %%
def train(cfg):
    set_seed(cfg["seed"])
    accelerator = Accelerator(cpu=True)
    model = PriceNet()
    optim = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    train_loader = DataLoader(train_set, batch_size=cfg["batch_size"], shuffle=True, drop_last=True)
    valid_loader = DataLoader(valid_set, batch_size=256)
    model, optim, train_loader, valid_loader = accelerator.prepare(model, optim, train_loader, valid_loader)
    accelerator.print(f"{accelerator.num_processes} workers, {len(train_loader)} steps per epoch")
    for epoch in range(cfg["epochs"]):
        t0, total = time.time(), 0.0
        for brand, x, y in train_loader:
            loss = nn.functional.mse_loss(model(brand, x), y)
            accelerator.backward(loss)
            optim.step()
            optim.zero_grad()
            total += loss.item()
        score = rmse(model, valid_loader, accelerator)
        accelerator.print(f"epoch {epoch} loss {total / len(train_loader):.4f} valid rmse {score:.4f} "
                          f"({time.time() - t0:.1f}s)")


# %%
notebook_launcher(train, args=(CFG,), num_processes=CFG["workers"], use_port="29641")

# %%
print("done")
