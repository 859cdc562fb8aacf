import argparse
import os
import resource

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, get_optimizer_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from denoiser import Denoiser

FULL = StateDictOptions(full_state_dict=True, cpu_offload=True)


class Ema:
    def __init__(self, decay):
        self.decay, self.weights = decay, None

    def update(self, weights):
        if self.weights is None:
            self.weights = {k: v.clone() for k, v in weights.items()}
            return
        for k, v in weights.items():
            self.weights[k].lerp_(v, 1 - self.decay)


def mem():
    with open("/proc/self/statm") as f:
        now = int(f.read().split()[1]) * resource.getpagesize()
    return f"rss {now >> 20} MiB peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB"


def latents(n, gen):
    base = torch.randn(n, 4, 4, 4, generator=gen)
    return torch.nn.functional.interpolate(base, size=(16, 16), mode="bilinear").flatten(1)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=16)
    p.add_argument("--batch", type=int, default=8)
    p.add_argument("--lr", type=float, default=3e-4)
    p.add_argument("--depth", type=int, default=4)
    p.add_argument("--ema-every", type=int, default=4)
    p.add_argument("--save-every", type=int, default=8)
    p.add_argument("--out", default="logs")
    a = p.parse_args()

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh("cpu", (world,))
    torch.manual_seed(0)
    model = Denoiser(depth=a.depth)
    n = sum(p.numel() for p in model.parameters())
    for b in model.blocks:
        fully_shard(b, mesh=mesh)
    fully_shard(model, mesh=mesh)
    opt = torch.optim.AdamW(model.parameters(), lr=a.lr)
    ema = Ema(0.99)
    print(f"rank {rank}/{world}: {n / 1e6:.1f}M parameters, {mem()}", flush=True)

    gen = torch.Generator().manual_seed(100 + rank)
    for step in range(1, a.steps + 1):
        x = latents(a.batch, gen)
        t = torch.rand(a.batch, generator=gen)
        noise = torch.randn(x.shape, generator=gen)
        noisy = (1 - t)[:, None] * x + t[:, None] * noise
        loss = (model(noisy, t) - noise).square().mean()
        loss.backward()
        opt.step()
        opt.zero_grad()

        if step % a.ema_every == 0:
            weights = get_model_state_dict(model, options=FULL)
            if rank == 0:
                ema.update(weights)
            print(f"rank {rank} step {step} loss {loss.item():.4f} {mem()}", flush=True)

        if step % a.save_every == 0:
            state = {
                "step": step,
                "model": get_model_state_dict(model, options=FULL),
                "optim": get_optimizer_state_dict(model, opt, options=FULL),
            }
            if rank == 0:
                state["ema"] = ema.weights
                path = os.path.join(a.out, f"ckpt_{step:05d}.pt")
                torch.save(state, path)
                print(f"saved {path} ({os.path.getsize(path) >> 20} MiB)", flush=True)
            del state
            dist.barrier()
            print(f"rank {rank} step {step} after save {mem()}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
