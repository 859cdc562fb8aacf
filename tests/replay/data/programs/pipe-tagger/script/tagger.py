import argparse
import math
import os
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

PAD = 0


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.att = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(dim, 3 * dim), nn.GELU(), nn.Linear(3 * dim, dim))

    def forward(self, x):
        h = self.ln1(x)
        x = x + self.att(h, h, h, need_weights=False)[0]
        return x + self.ff(self.ln2(x))


class Embed(nn.Module):
    def __init__(self, vocab, dim, length):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        pe = torch.zeros(length, dim)
        pos = torch.arange(length).unsqueeze(1)
        div = torch.exp(torch.arange(0, dim, 2) * (-math.log(10000.0) / dim))
        pe[:, 0::2], pe[:, 1::2] = torch.sin(pos * div), torch.cos(pos * div)
        self.register_buffer("pe", pe)

    def forward(self, ids):
        return self.tok(ids) + self.pe[: ids.size(1)]


def build_stage(a, rank, world):
    torch.manual_seed(a.seed + rank)
    per = a.layers // world
    parts = [Block(a.dim, a.heads) for _ in range(per)]
    if rank == 0:
        parts.insert(0, Embed(a.vocab, a.dim, a.length))
    if rank == world - 1:
        parts += [nn.LayerNorm(a.dim), nn.Linear(a.dim, a.tags)]
    return nn.Sequential(*parts)


def corpus(n, a, seed):
    g = torch.Generator().manual_seed(seed)
    ids = torch.randint(1, a.vocab, (n, a.length), generator=g)
    prev = torch.roll(ids, 1, dims=1)
    prev[:, 0] = 0
    tags = (ids % 5 + 5 * (prev % 2)) % a.tags
    return ids, tags


def batches(ids, tags, size, epoch=None):
    order = torch.arange(len(ids))
    if epoch is not None:
        order = torch.randperm(len(ids), generator=torch.Generator().manual_seed(epoch))
    for idx in order.split(size):
        yield ids[idx], tags[idx]


def tag_loss(logits, target):
    return nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten())


class PipelineTrainer:
    def __init__(self, a):
        self.a = a
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.first, self.last = self.rank == 0, self.rank == self.world - 1
        self.module = build_stage(a, self.rank, self.world)
        stage = PipelineStage(self.module, self.rank, self.world, torch.device("cpu"))
        self.schedule = ScheduleGPipe(stage, n_microbatches=a.micro, loss_fn=tag_loss)
        self.opt = torch.optim.AdamW(self.module.parameters(), lr=a.lr)
        self.say(f"stage {self.rank}: {sum(p.numel() for p in self.module.parameters())} parameters")

    def say(self, msg):
        print(f"[{time.strftime('%H:%M:%S')}] [{self.rank}] {msg}", flush=True)

    def train_epoch(self, epoch, ids, tags):
        total, count = 0.0, 0
        for x, y in batches(ids, tags, self.a.batch, epoch):
            self.opt.zero_grad()
            if self.first:
                self.schedule.step(x)
            elif self.last:
                losses = []
                self.schedule.step(target=y, losses=losses)
                total += torch.stack(losses).mean().item()
            else:
                self.schedule.step()
            nn.utils.clip_grad_norm_(self.module.parameters(), 1.0)
            self.opt.step()
            count += 1
            if self.last and count % 5 == 0:
                self.say(f"epoch {epoch} batch {count} loss {total / count:.4f}")
        return total / count

    @torch.no_grad()
    def evaluate(self, ids, tags):
        self.module.eval()
        right = seen = 0
        for x, y in batches(ids, tags, self.a.batch):
            logits = self.schedule.eval(x)
            right += (logits.argmax(-1) == y).sum().item()
            seen += y.numel()
        self.module.train()
        return right / seen


def main():
    p = argparse.ArgumentParser()
    for name, val in dict(epochs=3, batch=32, micro=4, layers=3, dim=48, heads=4, vocab=60, tags=8, length=24,
                          train=640, dev=128, seed=5).items():
        p.add_argument(f"--{name}", type=int, default=val)
    p.add_argument("--lr", type=float, default=3e-3)
    a = p.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    tr = PipelineTrainer(a)
    train, dev = corpus(a.train, a, 1), corpus(a.dev, a, 2)
    for epoch in range(a.epochs):
        t = time.time()
        loss = tr.train_epoch(epoch, *train)
        acc = tr.evaluate(*dev)
        if tr.last:
            tr.say(f"epoch {epoch} done: loss {loss:.4f} dev accuracy {acc:.4f} ({time.time() - t:.1f}s)")
        torch.save(tr.module.state_dict(), f"tagger.stage{tr.rank}.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
