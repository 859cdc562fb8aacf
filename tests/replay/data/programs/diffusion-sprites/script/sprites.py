"""Small denoiser on procedurally drawn sprites.   python sprites.py --ranks 3"""
import argparse
import os
import queue
import threading
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def draw(n, gen):
    """n sprites of 16x16: a disc or a box, somewhere."""
    yy, xx = torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij")
    cx, cy = torch.rand(2, n, 1, 1, generator=gen) * 8 + 4
    r = torch.rand(n, 1, 1, generator=gen) * 3 + 1.5
    disc = ((xx - cx) ** 2 + (yy - cy) ** 2 < r ** 2).float()
    box = (torch.maximum((xx - cx).abs(), (yy - cy).abs()) < r).float()
    pick = (torch.rand(n, 1, 1, generator=gen) < 0.5).float()
    return (pick * disc + (1 - pick) * box).unsqueeze(1) * 2 - 1


class Denoiser(nn.Module):
    def __init__(self, ch=24, steps=100):
        super().__init__()
        self.time = nn.Embedding(steps, ch)
        self.inp = nn.Conv2d(1, ch, 3, padding=1)
        self.mid = nn.ModuleList([nn.Conv2d(ch, ch, 3, padding=1) for _ in range(3)])
        self.out = nn.Conv2d(ch, 1, 3, padding=1)

    def forward(self, x, t):
        h = self.inp(x) + self.time(t)[:, :, None, None]
        for c in self.mid:
            h = h + c(torch.nn.functional.silu(h))
        return self.out(torch.nn.functional.silu(h))


class Saver(threading.Thread):
    """Writes snapshots while the training goes on. Every rank writes its generator, rank 0 the weights,
    the EMA copy and a preview drawn with it; `last` is moved when all the files are there."""

    def __init__(self, folder, rank, abar):
        super().__init__(daemon=True, name="saver")
        self.folder, self.rank, self.abar, self.jobs = folder, rank, abar, queue.Queue()
        self.net = Denoiser() if rank == 0 else None
        os.makedirs(folder, exist_ok=True)

    def put(self, step, weights, ema, rng):
        w = e = None
        if self.rank == 0:
            w = {k: v.clone() for k, v in weights.items()}
            e = {k: v.clone() for k, v in ema.items()}
        self.jobs.put((step, w, e, rng.clone()))

    @torch.no_grad()
    def preview(self, ema, n=8):
        self.net.load_state_dict(ema)
        x = torch.randn(n, 1, 16, 16, generator=torch.Generator().manual_seed(5))
        for t in range(99, 0, -3):
            a, b = self.abar[t], self.abar[max(t - 3, 0)]
            eps = self.net(x, torch.full((n,), t))
            x = b.sqrt() * ((x - (1 - a).sqrt() * eps) / a.sqrt()).clamp(-1, 1) + (1 - b).sqrt() * eps
        return x

    def run(self):
        while True:
            job = self.jobs.get()
            if job is None:
                return
            step, weights, ema, rng = job
            t0 = time.time()
            torch.save(rng, f"{self.folder}/s{step:05d}.r{self.rank}.pt")
            if self.rank == 0:
                torch.save({"weights": weights, "ema": ema, "preview": self.preview(ema)}, f"{self.folder}/s{step:05d}.pt")
            dist.barrier()
            if self.rank == 0:
                with open(f"{self.folder}/last", "w") as f:
                    f.write(f"s{step:05d}")
                print(f"snapshot s{step:05d} complete ({time.time() - t0:.2f} s)", flush=True)

    def close(self):
        self.jobs.put(None)
        self.join()


class Trainer:
    def __init__(self, rank, args):
        self.rank, self.args = rank, args
        self.gen = torch.Generator().manual_seed(100 + rank)
        torch.manual_seed(0)
        self.model = DDP(Denoiser())
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        self.ema = {k: v.clone() for k, v in self.model.module.state_dict().items()}
        beta = torch.linspace(1e-4, 0.08, 100)
        self.abar = torch.cumprod(1 - beta, 0)
        self.saver = Saver(args.out, rank, self.abar)
        self.saver.start()

    def step(self):
        x = draw(self.args.batch, self.gen)
        t = torch.randint(0, 100, (len(x),), generator=self.gen)
        eps = torch.randn(x.shape, generator=self.gen)
        a = self.abar[t][:, None, None, None]
        loss = ((self.model(a.sqrt() * x + (1 - a).sqrt() * eps, t) - eps) ** 2).mean()
        self.opt.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.opt.step()
        with torch.no_grad():
            for k, v in self.model.module.state_dict().items():
                self.ema[k].lerp_(v, 0.01)
        return loss.detach(), norm

    def fit(self):
        t0 = time.time()
        for i in range(1, self.args.steps + 1):
            loss, norm = self.step()
            if i % 10 == 0:
                mean = loss.clone()
                dist.all_reduce(mean)
                mean /= dist.get_world_size()
                if self.rank == 0:
                    print(f"step {i:5d}  loss {mean:.4f}  grad {norm:.3f}  {i / (time.time() - t0):.1f} it/s", flush=True)
            if i % self.args.snap == 0:
                self.saver.put(i, self.model.module.state_dict(), self.ema, self.gen.get_state())
        self.saver.close()
        if self.rank == 0:
            print("finished", flush=True)


def worker(rank, args):
    torch.set_num_threads(1)
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", str(args.port))
    dist.init_process_group("gloo", rank=rank, world_size=args.ranks)
    Trainer(rank, args).fit()
    dist.destroy_process_group()


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--ranks", type=int, default=3)
    p.add_argument("--steps", type=int, default=400)
    p.add_argument("--batch", type=int, default=16)
    p.add_argument("--snap", type=int, default=25)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--port", type=int, default=29731)
    p.add_argument("--out", default="snaps")
    a = p.parse_args()
    mp.spawn(worker, args=(a,), nprocs=a.ranks)
