import argparse
import logging
import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from asr.checkpoint import CheckpointManager
from asr.data import VOCAB, Utterances, collate
from asr.model import Acoustic

log = logging.getLogger("asr")


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--utts", type=int, default=480)
    p.add_argument("--save-every", type=int, default=25)
    p.add_argument("--log-every", type=int, default=5)
    p.add_argument("--out", default="exp/base")
    return p.parse_args()


@torch.no_grad()
def evaluate(model, loader, ctc):
    model.eval()
    total = torch.zeros(2)
    for feats, flen, text, tlen in loader:
        lp = model.module(feats).transpose(0, 1)
        total += torch.tensor([ctc(lp, text, flen, tlen).item(), 1.0])
    dist.all_reduce(total)
    model.train()
    return (total[0] / total[1]).item()


def main():
    args = parse()
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank {rank}] %(message)s")
    torch.manual_seed(7)
    torch.set_num_threads(1)

    train_set, dev_set = Utterances(args.utts), Utterances(96, seed=1)
    sampler = DistributedSampler(train_set, shuffle=True)
    loader = DataLoader(train_set, args.batch_size, sampler=sampler, collate_fn=collate)
    dev_loader = DataLoader(dev_set, args.batch_size, sampler=DistributedSampler(dev_set, shuffle=False),
                            collate_fn=collate)
    model = DDP(Acoustic(24, len(VOCAB)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    ctc = nn.CTCLoss(zero_infinity=True)
    ckpt = CheckpointManager(args.out)
    log.info("world %d, %d utterances, %d batches per epoch", world, len(train_set), len(loader))

    step = 0
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        t0 = time.time()
        for feats, flen, text, tlen in loader:
            loss = ctc(model(feats).transpose(0, 1), text, flen, tlen)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            step += 1
            if step % args.log_every == 0:
                log.info("epoch %d step %d loss %.3f", epoch, step, loss.item())
            if step % args.save_every == 0 and rank == 0:
                path = ckpt.save(step, model, optimizer)
                log.info("saved %s (%d kB)", path, os.path.getsize(path) // 1024)
        dev = evaluate(model, dev_loader, ctc)
        if rank == 0:
            log.info("epoch %d done in %.1fs, dev loss %.3f", epoch, time.time() - t0, dev)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
