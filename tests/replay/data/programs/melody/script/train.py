"""
train.py pretrain   one process, writes base.pt
train.py tune       starts from base.pt, layers split over the ranks of torchrun
"""
import argparse
import os
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

import corpus
from net import TuneLM


def loss_of(model, x, y):
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten())


@torch.no_grad()
def validate(model, ids, batches=8):
    gen = torch.Generator().manual_seed(99)
    return sum(loss_of(model, *corpus.batch(ids, 16, gen)).item() for _ in range(batches)) / batches


def split(model, mesh):
    plan = {
        "attn.wq": ColwiseParallel(), "attn.wk": ColwiseParallel(), "attn.wv": ColwiseParallel(),
        "attn.wo": RowwiseParallel(),
        "mlp.up": ColwiseParallel(), "mlp.down": RowwiseParallel(),
    }
    for blk in model.blocks:
        parallelize_module(blk, mesh, plan)
    return model


def main():
    p = argparse.ArgumentParser()
    p.add_argument("stage", choices=["pretrain", "tune"])
    p.add_argument("--steps", type=int, default=400)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--batch", type=int, default=16)
    p.add_argument("--file", default="base.pt")
    a = p.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(0)
    train_ids, valid_ids, vocab = corpus.read()
    model = TuneLM(vocab)
    rank = int(os.environ.get("RANK", 0))
    if a.stage == "tune":
        mesh = init_device_mesh("cpu", (int(os.environ["WORLD_SIZE"]),))
        model.load_state_dict(torch.load(a.file))
        split(model, mesh)
        local = sum(q.to_local().numel() if hasattr(q, "to_local") else q.numel() for q in model.parameters())
        print(f"[{rank}] mesh {tuple(mesh.shape)}, {local} parameters here", flush=True)
    say = print if rank == 0 else (lambda *_, **__: None)
    opt = torch.optim.AdamW(model.parameters(), lr=a.lr, weight_decay=0.01, foreach=False)
    gen = torch.Generator().manual_seed(1)
    say(f"{a.stage}: {len(train_ids)} tunes, notes {vocab}, start valid {validate(model, valid_ids):.3f}",
        flush=True)
    t0 = time.time()
    for step in range(1, a.steps + 1):
        loss = loss_of(model, *corpus.batch(train_ids, a.batch, gen))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 0:
            say(f"{a.stage} step {step:4d} train {loss.item():.3f} valid {validate(model, valid_ids):.3f} "
                f"{step / (time.time() - t0):.1f} it/s", flush=True)
    if a.stage == "pretrain":
        torch.save(model.state_dict(), a.file)
        say("wrote", a.file)
    else:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
