import argparse
import json
import logging
import math
import os

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.logging import get_logger
from accelerate.utils import set_seed
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader

from data import LEN, QUEUES, VOCAB, build
from model import Router

logger = get_logger(__name__)


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--per_device_train_batch_size", type=int, default=16)
    p.add_argument("--learning_rate", type=float, default=2e-3)
    p.add_argument("--num_train_epochs", type=int, default=6)
    p.add_argument("--warmup_ratio", type=float, default=0.06)
    p.add_argument("--output_dir", default="out")
    p.add_argument("--seed", type=int, default=3)
    return p.parse_args()


def linear_with_warmup(optimizer, warmup, total):
    def factor(step):
        if step < warmup:
            return step / max(1, warmup)
        return max(0.0, (total - step) / max(1, total - warmup))
    return LambdaLR(optimizer, factor)


def evaluate(accelerator, model, loader):
    model.eval()
    right = seen = 0
    for ids, y in loader:
        with torch.no_grad():
            pred = model(ids).argmax(-1)
        pred, y = accelerator.gather_for_metrics((pred, y))
        right += (pred == y).sum().item()
        seen += len(y)
    model.train()
    return right / seen


def main():
    args = parse()
    accelerator = Accelerator(cpu=True)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s %(message)s", level=logging.INFO)
    set_seed(args.seed)
    os.makedirs(args.output_dir, exist_ok=True)

    train_loader = DataLoader(build(3072, 1), args.per_device_train_batch_size, shuffle=True, drop_last=True)
    eval_loader = DataLoader(build(512, 2), 64)
    model = Router(VOCAB, QUEUES, LEN)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate, weight_decay=0.01)
    model, optimizer, train_loader, eval_loader = accelerator.prepare(model, optimizer, train_loader, eval_loader)

    steps_per_epoch = len(train_loader)
    max_train_steps = args.num_train_epochs * steps_per_epoch
    scheduler = linear_with_warmup(optimizer, math.ceil(args.warmup_ratio * max_train_steps), max_train_steps)
    scheduler = accelerator.prepare(scheduler)

    logger.info("***** Running training *****")
    logger.info("  Processes = %d", accelerator.num_processes)
    logger.info("  Batch size per device = %d", args.per_device_train_batch_size)
    logger.info("  Batches per epoch = %d", steps_per_epoch)
    logger.info("  Total optimization steps = %d", max_train_steps)

    metrics = open(os.path.join(args.output_dir, "metrics.jsonl"), "w") if accelerator.is_main_process else None
    step = 0
    for epoch in range(args.num_train_epochs):
        running = 0.0
        for ids, y in train_loader:
            loss = F.cross_entropy(model(ids), y)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
            step += 1
            running += loss.item()
            if step % 12 == 0:
                mean = accelerator.gather(torch.tensor([running / 12])).mean().item()
                running = 0.0
                if metrics:
                    metrics.write(json.dumps({"step": step, "loss": round(mean, 4), "lr": scheduler.get_last_lr()[0]}) + "\n")
        acc = evaluate(accelerator, model, eval_loader)
        logger.info("epoch %d/%d  step %d  eval accuracy %.4f", epoch + 1, args.num_train_epochs, step, acc)
        if metrics:
            metrics.write(json.dumps({"step": step, "epoch": epoch + 1, "eval_accuracy": round(acc, 4)}) + "\n")
            metrics.flush()

    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        torch.save(accelerator.unwrap_model(model).state_dict(), os.path.join(args.output_dir, "router.pt"))
        metrics.close()
    accelerator.end_training()


if __name__ == "__main__":
    main()
