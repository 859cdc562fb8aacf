import json
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, ShardingStrategy
from torch.distributed.fsdp.wrap import ModuleWrapPolicy

CFG = json.load(open(sys.argv[1] if len(sys.argv) > 1 else "gan.json"))


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, d), nn.SiLU(), nn.Linear(d, d))

    def forward(self, x):
        return x + self.net(x)


class Generator(nn.Module):
    def __init__(self, z, d, points):
        super().__init__()
        self.points = points
        self.inp = nn.Linear(z, d)
        self.blocks = nn.Sequential(*[Block(d) for _ in range(3)])
        self.out = nn.Linear(d, points * 3)

    def forward(self, z):
        return torch.tanh(self.out(self.blocks(self.inp(z)))).view(-1, self.points, 3)


class Critic(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.inp = nn.Linear(3, d)
        self.blocks = nn.Sequential(*[Block(d) for _ in range(3)])
        self.out = nn.Linear(d, 1)

    def forward(self, pts):
        h = self.blocks(self.inp(pts)).mean(1)
        return self.out(h).squeeze(-1)


def sample_shapes(n, points, gen):
    """noisy ellipsoid surfaces"""
    p = torch.randn(n, points, 3, generator=gen)
    p = p / p.norm(dim=-1, keepdim=True)
    return p * (0.3 + 0.6 * torch.rand(n, 1, 3, generator=gen))


def penalty(critic, real, fake):
    a = torch.rand(real.size(0), 1, 1)
    mid = (a * real + (1 - a) * fake).requires_grad_(True)
    score = critic(mid)
    (g,) = torch.autograd.grad(score.sum(), mid, create_graph=True)
    return ((g.flatten(1).norm(dim=1) - 1) ** 2).mean()


def wrap(net):
    return FSDP(
        net,
        auto_wrap_policy=ModuleWrapPolicy({Block}),
        sharding_strategy=ShardingStrategy[CFG["sharding"]],
        device_id=torch.device("cpu"),
        use_orig_params=True,
    )


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(CFG["seed"])
    gen = torch.Generator().manual_seed(CFG["seed"] + rank)
    G = wrap(Generator(CFG["z"], CFG["width"], CFG["points"]))
    D = wrap(Critic(CFG["width"]))
    og = torch.optim.Adam(G.parameters(), lr=CFG["lr"], betas=(0.0, 0.9))
    od = torch.optim.Adam(D.parameters(), lr=CFG["lr"], betas=(0.0, 0.9))
    if rank == 0:
        print(f"world={dist.get_world_size()} sharding={CFG['sharding']} "
              f"shard params G={sum(p.numel() for p in G.parameters())} D={sum(p.numel() for p in D.parameters())}", flush=True)
    B = CFG["batch"]
    for it in range(CFG["iters"]):
        t0 = time.time()
        for _ in range(CFG["critic_steps"]):
            real = sample_shapes(B, CFG["points"], gen)
            with torch.no_grad():
                fake = G(torch.randn(B, CFG["z"], generator=gen))
            both = D(torch.cat([real, fake]))
            loss_d = both[B:].mean() - both[:B].mean()
            if CFG["gp_weight"] > 0:
                loss_d = loss_d + CFG["gp_weight"] * penalty(D, real, fake)
            od.zero_grad()
            loss_d.backward()
            od.step()
        loss_g = -D(G(torch.randn(B, CFG["z"], generator=gen))).mean()
        og.zero_grad()
        loss_g.backward()
        og.step()
        if rank == 0 and it % CFG["log_every"] == 0:
            print(f"it {it:4d} loss_d {loss_d.item():+.4f} loss_g {loss_g.item():+.4f} {time.time() - t0:.2f}s", flush=True)
    if rank == 0:
        print("finished", CFG["iters"], "iterations", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
