import argparse
import math
import os
import pathlib

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, set_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


def time_embedding(t, dim):
    freqs = torch.exp(-math.log(1000) * torch.arange(dim // 2) / (dim // 2))
    a = t[:, None] * freqs[None]
    return torch.cat([a.sin(), a.cos()], -1)


class Block(nn.Module):
    def __init__(self, ch, emb):
        super().__init__()
        self.norm = nn.GroupNorm(4, ch)
        self.conv1 = nn.Conv2d(ch, ch, 3, padding=1)
        self.conv2 = nn.Conv2d(ch, ch, 3, padding=1)
        self.shift = nn.Linear(emb, ch)

    def forward(self, x, e):
        h = self.conv1(F.silu(self.norm(x))) + self.shift(e)[:, :, None, None]
        return x + self.conv2(F.silu(h))


class Denoiser(nn.Module):
    def __init__(self, ch=16, emb=32, depth=3):
        super().__init__()
        self.emb = emb
        self.stem = nn.Conv2d(1, ch, 3, padding=1)
        self.blocks = nn.ModuleList([Block(ch, emb) for _ in range(depth)])
        self.out = nn.Conv2d(ch, 1, 3, padding=1)

    def forward(self, x, t):
        e = time_embedding(t, self.emb)
        x = self.stem(x)
        for b in self.blocks:
            x = b(x, e)
        return self.out(x)


class Shapes:
    """8 x 8 glyphs: bars and boxes at random places."""

    def __init__(self, seed):
        self.g = torch.Generator().manual_seed(seed)

    def batch(self, n):
        x = -torch.ones(n, 1, 8, 8)
        for k in range(n):
            r, c, h, w = (int(torch.randint(lo, hi, (1,), generator=self.g)) for lo, hi in ((0, 5), (0, 5), (1, 4), (1, 4)))
            x[k, 0, r:r + h, c:c + w] = 1
        return x


class Trainer:
    def __init__(self, args):
        self.args = args
        self.rank = dist.get_rank()
        self.host = os.environ["GROUP_RANK"]
        torch.manual_seed(3)
        self.model = Denoiser()
        mesh = init_device_mesh("cpu", (dist.get_world_size(),))
        for b in self.model.blocks:
            fully_shard(b, mesh=mesh)
        fully_shard(self.model, mesh=mesh)
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        self.data = Shapes(1000 + self.rank)
        self.start = 0
        self.last = pathlib.Path(args.scratch) / "diffusion" / "last.pt"

    def say(self, text):
        print(f"[host {self.host} rank {self.rank}] {text}", flush=True)

    def resume(self):
        if not self.last.exists():
            self.say("new run")
            return
        saved = torch.load(self.last, map_location="cpu")
        set_model_state_dict(self.model, saved["model"],
                             options=StateDictOptions(full_state_dict=True, broadcast_from_rank0=True))
        self.start = saved["step"]
        self.say(f"resumed {self.last} at step {self.start}")

    def save(self, step):
        full = get_model_state_dict(self.model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
        if self.rank == 0:
            self.last.parent.mkdir(parents=True, exist_ok=True)
            torch.save({"model": full, "step": step}, self.last)
            self.say(f"saved {self.last}")

    def step(self):
        x0 = self.data.batch(self.args.batch)
        t = torch.randint(1, 100, (len(x0),), generator=self.data.g).float()
        keep = torch.cos(t / 100 * math.pi / 2)[:, None, None, None]
        noise = torch.randn(x0.shape, generator=self.data.g)
        noisy = keep * x0 + (1 - keep ** 2).sqrt() * noise
        loss = F.mse_loss(self.model(noisy, t), noise)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()

    def fit(self):
        self.resume()
        for step in range(self.start + 1, self.args.steps + 1):
            loss = self.step()
            if step % 10 == 0:
                self.say(f"step {step} loss {loss:.4f}")
            if step % self.args.save_every == 0:
                self.save(step)


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=40)
    p.add_argument("--save-every", type=int, default=20)
    p.add_argument("--batch", type=int, default=16)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--scratch", default=os.environ.get("SCRATCH", "/tmp"))
    dist.init_process_group("gloo")
    Trainer(p.parse_args()).fit()
    dist.destroy_process_group()
