"""Masked-residue pretraining of a protein encoder, sharded with fully_shard."""
import logging
import os
import sys
import time
from dataclasses import dataclass

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

AA = "ACDEFGHIKLMNPQRSTVWY"
MASK = len(AA)


@dataclass
class Config:
    dim: int = 640
    depth: int = 12
    heads: int = 10
    length: int = 48
    batch: int = 1
    steps: int = 2
    save_every: int = 2
    lr: float = 2e-3
    out: str = "ckpt"


class EncoderLayer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(c.dim), nn.LayerNorm(c.dim)
        self.qkv, self.o = nn.Linear(c.dim, 3 * c.dim), nn.Linear(c.dim, c.dim)
        self.f1, self.f2 = nn.Linear(c.dim, 4 * c.dim), nn.Linear(4 * c.dim, c.dim)
        self.heads = c.heads

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        x = x + self.o(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, d))
        return x + self.f2(F.gelu(self.f1(self.n2(x))))


class ProteinEncoder(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.emb = nn.Embedding(len(AA) + 1, c.dim)
        self.pos = nn.Parameter(torch.zeros(1, c.length, c.dim))
        self.layers = nn.ModuleList(EncoderLayer(c) for _ in range(c.depth))
        self.norm = nn.LayerNorm(c.dim)
        self.lm = nn.Linear(c.dim, len(AA))

    def forward(self, ids):
        x = self.emb(ids) + self.pos
        for layer in self.layers:
            x = layer(x)
        return self.lm(self.norm(x))


def build(c, mesh):
    torch.manual_seed(0)
    with torch.device("meta"):
        model = ProteinEncoder(c)
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    model.to_empty(device="cpu")
    for m in model.modules():
        if isinstance(m, (nn.Linear, nn.Embedding)):
            nn.init.normal_(m.weight, std=0.02)
            if getattr(m, "bias", None) is not None:
                nn.init.zeros_(m.bias)
        elif isinstance(m, nn.LayerNorm):
            m.reset_parameters()
    nn.init.zeros_(model.pos)
    return model


def proteins(c, gen):
    motif = torch.randint(0, 20, (c.batch, 6), generator=gen)
    ids = motif.repeat(1, c.length // 6)
    hide = torch.rand(ids.shape, generator=gen) < 0.15
    hide[:, 0] = True
    return ids.masked_fill(hide, MASK), ids.masked_fill(~hide, -100)


def memory():
    s = dict(l.split(":", 1) for l in open("/proc/self/status") if ":" in l)
    return f"rss {int(s['VmRSS'].split()[0]) >> 10} MB, high {int(s['VmHWM'].split()[0]) >> 10} MB"


def save(model, opt, step, c, rank, log):
    t = time.time()
    weights, optim = get_state_dict(model, opt, options=StateDictOptions(full_state_dict=True))
    if rank == 0:
        os.makedirs(c.out, exist_ok=True)
        torch.save({"model": weights, "optim": optim, "step": step}, os.path.join(c.out, f"step{step}.pt"))
    dist.barrier()
    log.info("step %d saved in %.1fs, %s", step, time.time() - t, memory())


def main():
    c = Config()
    for a in sys.argv[1:]:
        k, v = a.split("=")
        setattr(c, k, type(getattr(c, k))(v))
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format=f"%(asctime)s r{rank} %(message)s")
    log = logging.getLogger()
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    model = build(c, mesh)
    n = sum(p.numel() for p in model.parameters())
    opt = torch.optim.SGD(model.parameters(), lr=c.lr, momentum=0.9)
    log.info("%.1fM parameters over %d ranks, %s", n / 1e6, mesh.size(), memory())
    gen = torch.Generator().manual_seed(77 + rank)
    for step in range(1, c.steps + 1):
        x, y = proteins(c, gen)
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten(), ignore_index=-100)
        loss.backward()
        opt.step()
        opt.zero_grad()
        log.info("step %d loss %.4f, %s", step, loss.item(), memory())
        if step % c.save_every == 0:
            save(model, opt, step, c, rank, log)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
