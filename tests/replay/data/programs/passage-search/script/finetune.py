import argparse
import csv

import torch
from accelerate import Accelerator
from accelerate.logging import get_logger
from accelerate.utils import set_seed
from torch.utils.data import DataLoader
import logging

from pairs import WORDS, collate, make_pairs
from retriever import Retriever

logging.basicConfig(level=logging.INFO, format="%(asctime)s | %(levelname)s | %(message)s", datefmt="%H:%M:%S")
logger = get_logger(__name__)


def evaluate(acc, model, loader):
    model.eval()
    hits = []
    with torch.no_grad():
        for b in loader:
            hits.append(acc.gather(model(**b)[1]).mean())
    model.train()
    return torch.stack(hits).mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=3)
    ap.add_argument("--per_device_batch", type=int, default=32)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--depth", type=int, default=3)
    ap.add_argument("--gradient_checkpointing", action="store_true")
    ap.add_argument("--metrics", default="metrics.csv")
    args = ap.parse_args()

    acc = Accelerator()
    set_seed(17)
    torch.set_num_threads(1)
    train = DataLoader(make_pairs(1024), args.per_device_batch, shuffle=True, collate_fn=collate, drop_last=True)
    dev = DataLoader(make_pairs(256, seed=6), args.per_device_batch, collate_fn=collate)
    model = Retriever(WORDS, depth=args.depth, gradient_checkpointing=args.gradient_checkpointing)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.LinearLR(opt, 0.1, 1.0, 20)
    model, opt, train, dev, sched = acc.prepare(model, opt, train, dev, sched)

    logger.info("***** Running training *****")
    logger.info("  Num examples = %d", 1024)
    logger.info("  Total batch size = %d", args.per_device_batch * acc.num_processes)
    logger.info("  Gradient checkpointing = %s", args.gradient_checkpointing)
    logger.info("  Trainable parameters = %d", sum(p.numel() for p in model.parameters()))

    rows, step = [], 0
    for epoch in range(args.epochs):
        for b in train:
            loss, hit = model(**b)
            acc.backward(loss)
            acc.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            opt.zero_grad()
            if step % 5 == 0:
                logger.info("step %d loss %.4f acc@1 %.3f lr %.2e", step, loss.item(), hit.item(), sched.get_last_lr()[0])
                rows.append([step, loss.item(), hit.item()])
            step += 1
        logger.info("epoch %d dev acc@1 %.3f", epoch, evaluate(acc, model, dev))
    if acc.is_main_process:
        with open(args.metrics, "w", newline="") as f:
            csv.writer(f).writerows([["step", "loss", "acc"]] + rows)
    acc.end_training()


if __name__ == "__main__":
    main()
