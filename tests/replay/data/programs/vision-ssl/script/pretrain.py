# masked-patch pretraining on small synthetic textures
import math
import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from tqdm import tqdm

EPOCHS = int(os.environ.get("EPOCHS", 12))
STEPS = int(os.environ.get("STEPS", 12))
BATCH = 24
OUT = os.environ.get("OUT", "mae.pt")


def textures(n, g):
    yy, xx = torch.meshgrid(torch.arange(32.), torch.arange(32.), indexing="ij")
    a = torch.rand(n, 1, 1, generator=g) * math.pi
    f = 0.2 + 0.8 * torch.rand(n, 1, 1, generator=g)
    ph = torch.rand(n, 1, 1, generator=g) * 6.28
    return torch.sin(f * (xx * a.cos() + yy * a.sin()) + ph).unsqueeze(1)


def patches(img, p=4):
    return nn.functional.unfold(img, p, stride=p).transpose(1, 2)


class MAE(nn.Module):
    def __init__(self, d=96, n=64, p=16):
        super().__init__()
        self.inp = nn.Linear(p, d)
        self.mask = nn.Parameter(torch.zeros(d))
        self.pos = nn.Parameter(torch.randn(n, d) * 0.02)
        layer = nn.TransformerEncoderLayer(d, 4, 3 * d, 0.0, batch_first=True, norm_first=True)
        self.enc = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
        self.out = nn.Linear(d, p)

    def forward(self, x, hide):
        h = torch.where(hide.unsqueeze(-1), self.mask, self.inp(x)) + self.pos
        return self.out(self.enc(h))


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    net = nn.parallel.DistributedDataParallel(MAE())
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, 2e-3, total_steps=EPOCHS * STEPS)
    g = torch.Generator().manual_seed(1000 + rank)
    t0 = time.time()
    for ep in range(1, EPOCHS + 1):
        bar = tqdm(range(STEPS), disable=rank != 0, desc=f"epoch {ep}/{EPOCHS}", mininterval=2, ncols=90)
        mean = 0.0
        for _ in bar:
            x = patches(textures(BATCH, g))
            hide = torch.rand(x.shape[:2], generator=g) < 0.6
            loss = (net(x, hide) - x).pow(2)[hide].mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            mean += loss.item() / STEPS
            bar.set_postfix(loss=f"{loss.item():.3f}")
        if rank == 0:
            print(f"epoch {ep} mean loss {mean:.4f} lr {sched.get_last_lr()[0]:.2e} elapsed {time.time() - t0:.0f}s", flush=True)
    if rank == 0:
        torch.save(net.module.state_dict(), OUT)
        print("wrote", OUT, flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
