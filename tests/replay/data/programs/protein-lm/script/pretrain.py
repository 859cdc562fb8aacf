"""Masked-residue pretraining of a small protein model.

torchrun --nproc-per-node 3 pretrain.py --steps 60
"""
import argparse
import math
import os
import random
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

AA = "ACDEFGHIKLMNPQRSTVWY"
PAD, MASK = 0, 1
VOCAB = len(AA) + 2
IGNORE = -100


class ScaleNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.gain = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.gain


class DistanceBias(nn.Module):
    """One learned number per head and (clipped) residue distance."""

    def __init__(self, heads, span):
        super().__init__()
        self.span = span
        self.table = nn.Parameter(torch.randn(2 * span + 1, heads) * 0.02)

    def forward(self, t):
        pos = torch.arange(t)
        d = (pos[None] - pos[:, None]).clamp(-self.span, self.span) + self.span
        return self.table[d].permute(2, 0, 1)


class Layer(nn.Module):
    def __init__(self, dim, heads, span):
        super().__init__()
        self.heads = heads
        self.n1, self.n2 = ScaleNorm(dim), ScaleNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.out = nn.Linear(dim, dim, bias=False)
        self.bias = DistanceBias(heads, span)
        self.ff = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x, pad):
        b, t, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mask = self.bias(t)[None] + pad[:, None, None, :].float() * -1e4
        a = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.out(a.transpose(1, 2).reshape(b, t, d))
        return x + self.ff(self.n2(x))


class ProteinLM(nn.Module):
    def __init__(self, dim=96, heads=4, layers=4, span=32):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.layers = nn.ModuleList(Layer(dim, heads, span) for _ in range(layers))
        self.norm = ScaleNorm(dim)
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, tok):
        pad = tok == PAD
        x = self.embed(tok)
        for layer in self.layers:
            x = layer(x, pad)
        return self.head(self.norm(x))


def build(args):
    """Construct without touching memory, shard, then fill the local pieces."""
    with torch.device("meta"):
        model = ProteinLM(args.dim, args.heads, args.layers)
    n = sum(p.numel() for p in model.parameters())
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    model.to_empty(device="cpu")
    for m in model.modules():
        if hasattr(m, "reset_parameters"):
            m.reset_parameters()
    return model, n


def make_corpus(n, seed):
    """Sequences from a few families: a motif repeated with mutations."""
    rng = random.Random(seed)
    motifs = ["".join(rng.choice(AA) for _ in range(12)) for _ in range(6)]
    rng = random.Random(seed + dist.get_rank())
    out = []
    for _ in range(n):
        s = rng.choice(motifs) * rng.randint(2, 8)
        s = s[rng.randint(0, 11):]
        out.append("".join(rng.choice(AA) if rng.random() < 0.05 else c for c in s))
    return out


def collate(seqs, g):
    t = max(map(len, seqs))
    tok = torch.full((len(seqs), t), PAD)
    for i, s in enumerate(seqs):
        tok[i, : len(s)] = torch.tensor([AA.index(c) + 2 for c in s])
    labels = torch.full_like(tok, IGNORE)
    pick = (torch.rand(tok.shape, generator=g) < 0.15) & (tok != PAD)
    labels[pick] = tok[pick]
    tok = tok.masked_fill(pick, MASK)
    return tok, labels


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=60)
    ap.add_argument("--batch", type=int, default=16)
    ap.add_argument("--dim", type=int, default=96)
    ap.add_argument("--heads", type=int, default=4)
    ap.add_argument("--layers", type=int, default=4)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--warmup", type=int, default=10)
    ap.add_argument("--clip", type=float, default=1.0)
    ap.add_argument("--out", default="ckpt")
    args = ap.parse_args()

    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1234 + rank)
    g = torch.Generator().manual_seed(rank)

    corpus = make_corpus(1500, seed=3)
    masked = 0
    residues = sum(map(len, corpus))
    for i in range(0, 480, args.batch):
        _, labels = collate(corpus[i : i + args.batch], g)
        masked += (labels != IGNORE).sum().item()
    print(f"[{rank}] {len(corpus)} sequences, {residues} residues, "
          f"{masked / 30:.0f} masked per batch", flush=True)

    model, n = build(args)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.98), weight_decay=0.01)
    if rank == 0:
        print(f"model {n / 1e6:.2f}M parameters, {world} ranks, global batch {world * args.batch}", flush=True)
    local = [p.to_local() for p in model.parameters()]
    print(f"[{rank}] shard of {sum(p.numel() for p in local)} values, "
          f"norm {sum(p.pow(2).sum().item() for p in local) ** 0.5:.4f}", flush=True)

    t0 = time.time()
    for step in range(1, args.steps + 1):
        for group in opt.param_groups:
            warm = min(1.0, step / args.warmup)
            group["lr"] = args.lr * warm * 0.5 * (1 + math.cos(math.pi * step / args.steps))
        tok, labels = collate(random.sample(corpus, args.batch), g)
        logits = model(tok)
        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORE)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), args.clip).full_tensor()
        opt.step()
        opt.zero_grad()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        if rank == 0 and (step <= 3 or step % 10 == 0):
            print(f"step {step:4d} loss {mean.item() / world:.4f} gnorm {norm.item():.3f} "
                  f"lr {group['lr']:.2e} {step * args.batch * world / (time.time() - t0):.0f} seq/s", flush=True)
    os.makedirs(args.out, exist_ok=True)
    torch.save({k: v.to_local() for k, v in model.state_dict().items()}, f"{args.out}/last_{rank}.pt")
    print(f"[{rank}] saved {args.out}/last_{rank}.pt", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
